package io.cairn.dataserver.pg;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A page is listed once, however often it is asked for and however long that takes. */
class ContentListingTest {
    private static final Key OTHER = new Key(7, 1);

    private final BlockingCalls calls = new BlockingCalls();
    private final BlockingQueue<Runnable> owner = new LinkedBlockingQueue<>();
    private final Semaphore mayList = new Semaphore(0);
    private final BlockingQueue<Key> listed = new LinkedBlockingQueue<>();
    private final List<String> told = new ArrayList<>();

    private final ContentListing listing = new ContentListing(calls, owner::add, this::heads);

    private List<ContentHead> heads(Key after) {
        mayList.acquireUninterruptibly();
        listed.add(after);
        return List.of();
    }

    @AfterEach
    void close() {
        mayList.release(100);
        calls.close();
    }

    private void ask(String name, Key after) {
        listing.list(
                after, heads -> told.add(name + " has it"), _ -> told.add(name + " asks again"));
    }

    /** One call to the store ends, and its loop hears of it. */
    private void oneEnds() throws InterruptedException {
        mayList.release();
        owner.take().run();
    }

    @Test
    void whoAsksAgainGetsWhatIsBeingListed() throws Exception {
        ask("1", Key.FIRST);
        ask("2", Key.FIRST);
        ask("3", Key.FIRST);
        oneEnds();
        assertThat(told).containsExactly("1 asks again", "2 asks again", "3 has it");
        assertThat(listed).containsExactly(Key.FIRST);
        ask("4", Key.FIRST);
        assertThat(told).endsWith("4 has it");
        assertThat(listed).hasSize(1);
    }

    @Test
    void anotherPageIsListedAfterTheOneInProgress() throws Exception {
        ask("1", Key.FIRST);
        ask("2", OTHER);
        oneEnds();
        assertThat(told).containsExactly("1 asks again");
        oneEnds();
        assertThat(told).endsWith("2 has it");
        assertThat(listed).containsExactly(Key.FIRST, OTHER);
    }

    @Test
    void whatWasListedBeforeAStepIsListedAnew() throws Exception {
        ask("1", Key.FIRST);
        oneEnds();
        listing.changes();
        ask("2", Key.FIRST);
        listing.changes();
        oneEnds();
        assertThat(told).containsExactly("1 has it");
        oneEnds();
        assertThat(told).containsExactly("1 has it", "2 has it");
        assertThat(listed).hasSize(3);
    }
}
