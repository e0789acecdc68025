package io.cairn.mds.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.ReadOpen;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.session.ReadOpens.Opened;
import io.cairn.mds.session.ReadOpens.Round;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Who has what open for reading, as a leader knows it. */
final class ReadOpensTest {
    private static final long TERM = 3;

    private final List<SessionRecord> recorded = new CopyOnWriteArrayList<>();
    private final List<Long> closed = new ArrayList<>();
    private final ReadOpens opens = new ReadOpens(() -> List.copyOf(recorded), 100);

    ReadOpensTest() {
        opens.onClosed(closed::add);
        opens.begin(TERM);
    }

    private static Round round(long number) {
        return new Round(TERM, number);
    }

    private void record(long session) {
        recorded.add(SessionRecord.newBuilder().setSession(session).setReclaims(true).build());
    }

    private static ReadOpen held(long inode, long number) {
        return ReadOpen.newBuilder().setInode(inode).setNumber(number).build();
    }

    private boolean reclaimAll(long session, long round, ReadOpen... held) {
        return opens.reclaim(session, round(round), List.of(held), 0, true);
    }

    @Test
    void anOpenLastsUntilItIsClosed() {
        assertThat(opens.open(1, round(1), 7, 1)).as("no round yet").isEqualTo(Opened.OTHER_ROUND);
        assertThat(reclaimAll(1, 1)).isTrue();
        assertThat(opens.open(1, round(1), 7, 1)).isEqualTo(Opened.NEW);
        assertThat(opens.open(1, round(1), 7, 1)).as("repeated").isEqualTo(Opened.AGAIN);
        assertThat(opens.mayBeOpen(7)).isTrue();
        assertThat(opens.mayBeOpenBeside(1, 7)).isFalse();
        assertThat(opens.mayBeOpenBeside(2, 7)).isTrue();
        assertThat(reclaimAll(2, 1)).isTrue();
        assertThat(opens.open(2, round(1), 7, 1)).isEqualTo(Opened.NEW);
        assertThat(opens.close(1, round(1), List.of(held(7, 1)))).isTrue();
        assertThat(opens.mayBeOpen(7)).isTrue();
        assertThat(closed).isEmpty();
        assertThat(opens.count()).isEqualTo(1);
        assertThat(opens.close(2, round(1), List.of(held(7, 1)))).isTrue();
        assertThat(opens.mayBeOpen(7)).isFalse();
        assertThat(closed).containsExactly(7L);
        assertThat(opens.count()).isZero();
    }

    @Test
    void whatIsOfAnEarlierRoundIsRefused() {
        assertThat(reclaimAll(1, 1)).isTrue();
        assertThat(opens.open(1, round(1), 7, 1)).isEqualTo(Opened.NEW);
        assertThat(reclaimAll(1, 2, held(7, 1))).isTrue();
        assertThat(opens.close(1, round(2), List.of(held(7, 1)))).isTrue();
        // The open came by a connection that was lost, and was repeated by another one.
        assertThat(opens.open(1, round(1), 7, 1)).isEqualTo(Opened.OTHER_ROUND);
        assertThat(reclaimAll(1, 1, held(7, 1))).isFalse();
        assertThat(opens.mayBeOpen(7)).isFalse();
        assertThat(opens.open(1, round(2), 8, 2)).isEqualTo(Opened.NEW);
        assertThat(opens.close(1, round(1), List.of(held(8, 2)))).isFalse();
        assertThat(opens.mayBeOpen(8)).isTrue();
    }

    @Test
    void whatWasMeantForAnotherLeaderIsRefused() {
        record(1);
        opens.begin(TERM + 1);
        assertThat(reclaimAll(1, 1)).isFalse();
        assertThat(opens.awaits(1)).isTrue();
        assertThat(opens.reclaim(1, new Round(TERM + 1, 2), List.of(), 0, true)).isTrue();
        assertThat(opens.open(1, round(2), 7, 1)).isEqualTo(Opened.OTHER_ROUND);
        opens.end();
        assertThat(opens.reclaim(1, new Round(TERM + 1, 3), List.of(), 0, true)).isFalse();
    }

    @Test
    void aCloseDoesNotEndALaterOpen() {
        assertThat(reclaimAll(1, 1)).isTrue();
        assertThat(opens.open(1, round(1), 7, 1)).isEqualTo(Opened.NEW);
        assertThat(opens.open(1, round(1), 7, 2)).isEqualTo(Opened.AGAIN);
        assertThat(opens.close(1, round(1), List.of(held(7, 1)))).isTrue();
        assertThat(opens.mayBeOpen(7)).isTrue();
        assertThat(opens.close(1, round(1), List.of(held(7, 2)))).isTrue();
        assertThat(opens.mayBeOpen(7)).isFalse();
    }

    @Test
    void aReclaimInPartsClosesNothingBeforeItsLast() {
        assertThat(reclaimAll(1, 1)).isTrue();
        for (long inode = 1; inode <= 3; inode++) {
            assertThat(opens.open(1, round(1), inode, inode)).isEqualTo(Opened.NEW);
        }
        assertThat(opens.reclaim(1, round(2), List.of(held(1, 1)), 0, false)).isTrue();
        assertThat(opens.open(1, round(2), 9, 9)).isEqualTo(Opened.OTHER_ROUND);
        assertThat(opens.reclaim(1, round(2), List.of(held(3, 3)), 2, true)).as("a gap").isFalse();
        assertThat(opens.mayBeOpen(2)).isTrue();
        assertThat(opens.mayBeOpen(3)).isTrue();
        assertThat(closed).isEmpty();
        assertThat(opens.reclaim(1, round(2), List.of(held(2, 2)), 1, true)).isTrue();
        assertThat(opens.mayBeOpen(2)).isTrue();
        assertThat(opens.mayBeOpen(3)).isFalse();
        assertThat(closed).containsExactly(3L);
        assertThat(opens.reclaim(1, round(2), List.of(held(3, 3)), 2, true)).as("over").isFalse();
    }

    @Test
    void aNewLeaderTakesEverythingForOpenUntilAllHaveReclaimedOrEnded() {
        record(1);
        record(2);
        record(3);
        recorded.add(SessionRecord.newBuilder().setSession(4).build()); // of an older client
        recorded.add(
                SessionRecord.newBuilder().setSession(5).setReclaims(true).setEnding(true).build());
        opens.begin(TERM);
        assertThat(opens.awaited()).isEqualTo(3);
        assertThat(opens.isComplete()).isFalse();
        assertThat(reclaimAll(1, 4, held(7, 1))).isTrue();
        assertThat(opens.awaits(1)).isFalse();
        assertThat(opens.mayBeOpen(8)).isTrue();
        assertThat(opens.mayBeOpenBeside(1, 7)).isTrue();
        assertThat(opens.reclaim(2, round(1), List.of(), 0, false)).isTrue();
        opens.sessionRefused(3, 1); // a data server may still serve it
        assertThat(opens.awaited()).isEqualTo(2);
        opens.sessionEnded(3);
        assertThat(opens.isComplete()).isFalse();
        assertThat(opens.reclaim(2, round(1), List.of(), 1, true)).isTrue();
        assertThat(opens.isComplete()).isTrue();
        assertThat(opens.mayBeOpen(8)).isFalse();
        assertThat(opens.mayBeOpen(7)).isTrue();
        assertThat(opens.mayBeOpenBeside(1, 7)).isFalse();
    }

    @Test
    void anEvictedSessionHasItsFilesOpenUntilItEnds() {
        assertThat(reclaimAll(1, 1, held(7, 1), held(8, 2))).isTrue();
        opens.sessionRefused(1, 1);
        assertThat(opens.mayBeOpen(7)).isTrue();
        opens.sessionEnded(1);
        assertThat(opens.mayBeOpen(7)).isFalse();
        assertThat(closed).containsExactlyInAnyOrder(7L, 8L);
        assertThat(opens.count()).isZero();
    }

    @Test
    void aSessionHasSoManyOpenAtMost() {
        assertThat(reclaimAll(1, 1)).isTrue();
        for (long inode = 1; inode <= 100; inode++) {
            assertThat(opens.open(1, round(1), inode, inode)).isEqualTo(Opened.NEW);
        }
        assertThat(opens.open(1, round(1), 101, 101)).isEqualTo(Opened.TOO_MANY);
        assertThat(opens.open(1, round(1), 100, 102)).isEqualTo(Opened.AGAIN);
        assertThat(opens.count(1)).isEqualTo(100);
    }

    // ---- clients whose connections break, and leaders that change ----------------

    private interface Message {
        /** At the leader; the answer goes back by the same connection. */
        void arrive();
    }

    /** What a client does, and believes. */
    private final class Client {
        final long session;
        final Random random;
        final Map<Long, Long> held = new HashMap<>();
        final Map<Long, Long> pending = new LinkedHashMap<>(); // inodes by number
        final List<ReadOpen> closedMeanwhile = new ArrayList<>(); // since this round's reclaim
        final List<ArrayDeque<Message>> connections = new ArrayList<>();
        Round round = new Round(0, 0);
        long numbers;
        int parts;
        boolean ready;

        Client(long session, Random random) {
            this.session = session;
            this.random = random;
            connect();
        }

        void send(Message message) {
            connections.getLast().add(message);
        }

        void connect() {
            connections.add(new ArrayDeque<>());
            begin();
        }

        void begin() {
            Round sent = new Round(opens.term(), round.number() + 1); // as a renewal said
            round = sent;
            ready = false;
            closedMeanwhile.clear();
            List<ReadOpen> all = new ArrayList<>();
            held.forEach((inode, number) -> all.add(held(inode, number)));
            int size = 1 + random.nextInt(3);
            parts = Math.max(1, (all.size() + size - 1) / size);
            int count = parts;
            for (int i = 0; i < count; i++) {
                int part = i;
                List<ReadOpen> named =
                        List.copyOf(
                                all.subList(part * size, Math.min(all.size(), (part + 1) * size)));
                send(() -> {
                    boolean taken = opens.reclaim(session, sent, named, part, part == count - 1);
                    if (sent == round && taken && --parts == 0) {
                        ready = true;
                        closedMeanwhile.forEach(this::sendClose);
                        closedMeanwhile.clear();
                        pending.forEach((number, inode) -> ask(inode, number));
                    } else if (sent == round && !taken) {
                        connect();
                    }
                });
            }
        }

        void open(long inode) {
            long number = ++numbers;
            pending.put(number, inode);
            if (ready) {
                ask(inode, number);
            }
        }

        void ask(long inode, long number) {
            Round sent = round;
            send(() -> {
                Opened opened = opens.open(session, sent, inode, number);
                boolean heard = random.nextInt(10) > 0;
                if (sent == round && heard && opened == Opened.OTHER_ROUND) {
                    connect();
                } else if (sent == round && heard) {
                    pending.remove(number);
                    held.merge(inode, number, Math::max);
                } else if (sent == round) {
                    connect(); // the answer is lost, and so is the connection
                }
            });
        }

        void close(long inode) {
            Long number = held.get(inode);
            if (number == null || pending.containsValue(inode)) {
                return; // a handle that is being made keeps it open
            }
            held.remove(inode);
            if (ready) {
                sendClose(held(inode, number));
            } else {
                closedMeanwhile.add(held(inode, number));
            }
        }

        void sendClose(ReadOpen closed) {
            Round sent = round;
            send(() -> {
                if (!opens.close(session, sent, List.of(closed)) && sent == round) {
                    connect();
                }
            });
        }

        /** In its order on each connection; a broken one delivers late, or not at all. */
        void deliver() {
            ArrayDeque<Message> some = connections.get(random.nextInt(connections.size()));
            if (some != connections.getLast() && random.nextInt(20) == 0) {
                some.clear();
            }
            Message message = some.poll();
            if (message != null) {
                message.arrive();
            }
        }

        boolean isQuiet() {
            return connections.stream().allMatch(ArrayDeque::isEmpty) && pending.isEmpty();
        }
    }

    @Test
    void whateverIsLostOrLateAClientHasOpenWhatItBelievesAndNothingElse() {
        long seed = TestSeed.of("ReadOpensTest");
        Random random = new Random(seed);
        long term = TERM;
        for (int run = 0; run < 200; run++) {
            recorded.clear();
            opens.begin(++term);
            List<Client> clients = new ArrayList<>();
            for (long session = 1; session <= 3; session++) {
                record(session);
                clients.add(new Client(session, random));
            }
            for (int step = 0; step < 500; step++) {
                Client client = clients.get(random.nextInt(clients.size()));
                long inode = 1 + random.nextInt(5);
                switch (random.nextInt(100)) {
                    case 0 -> {
                        opens.begin(++term);
                        if (random.nextBoolean()) { // else they hear of it by a refusal
                            clients.forEach(Client::connect);
                        }
                    }
                    case 1, 2 -> client.connect();
                    default -> {
                        switch (random.nextInt(4)) {
                            case 0 -> client.open(inode);
                            case 1 -> client.close(inode);
                            default -> client.deliver();
                        }
                    }
                }
                check(seed, clients);
            }
            // A renewal tells those that the leader still waits for.
            while (!clients.stream().allMatch(Client::isQuiet) || !opens.isComplete()) {
                for (Client client : clients) {
                    if (client.isQuiet() && opens.awaits(client.session)) {
                        client.begin();
                    }
                    client.deliver();
                    check(seed, clients);
                }
            }
            int all = 0;
            for (Client client : clients) {
                all += client.held.size();
                assertThat(opens.count(client.session))
                        .as("seed %d", seed)
                        .isEqualTo(client.held.size());
            }
            assertThat(opens.count()).as("seed %d", seed).isEqualTo(all);
            for (long inode = 1; inode <= 5; inode++) {
                long i = inode;
                assertThat(opens.mayBeOpen(inode))
                        .as("seed %d", seed)
                        .isEqualTo(clients.stream().anyMatch(c -> c.held.containsKey(i)));
            }
        }
    }

    private void check(long seed, List<Client> clients) {
        for (Client client : clients) {
            for (long inode : client.held.keySet()) {
                assertThat(opens.mayBeOpen(inode))
                        .as("seed %d: inode %d of session %d", seed, inode, client.session)
                        .isTrue();
            }
        }
    }
}
