package io.cairn.common.rpc;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.Hello;
import io.cairn.common.seed.TestSeed;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * Throws garbage, half frames, oversized frames and the like at a server's port. Each attack must
 * end with the server closing that connection, and the server must serve others afterwards. For the
 * tests of every port that speaks Cairn's RPC.
 */
public final class FrameAttacks {
    private static final int PATIENCE_MILLIS = 20_000;
    private static final int MAX_BODY = RpcOptions.DEFAULT.maxBodyBytes();

    private final InetSocketAddress address;
    private final Hello hello;
    private final Random random;

    /**
     * @param hello one that the server accepts
     */
    public FrameAttacks(InetSocketAddress address, Hello hello) {
        this.address = address;
        this.hello = Handshake.local(hello);
        this.random = TestSeed.random("FrameAttacks");
    }

    /** All attacks, at the same time; fails unless all end as they should. */
    public void run() throws IOException {
        Map<String, Socket> connections = new TreeMap<>();
        try {
            for (var attack : beforeHello().entrySet()) {
                Socket socket = connect();
                connections.put("before hello: " + attack.getKey(), socket);
                send(socket, attack.getValue());
            }
            for (var attack : afterHello().entrySet()) {
                Socket socket = greeted();
                connections.put("after hello: " + attack.getKey(), socket);
                send(socket, attack.getValue());
            }
            Socket ended = greeted();
            connections.put("after hello: end in the middle of a frame", ended);
            send(ended, Arrays.copyOf(request(new byte[100]).bytes(), 90));
            ended.shutdownOutput();
            for (var connection : connections.entrySet()) {
                assertCloses(connection.getKey(), connection.getValue());
            }
        } finally {
            for (Socket socket : connections.values()) {
                socket.close();
            }
        }
        assertServes();
    }

    private Map<String, byte[]> beforeHello() {
        Map<String, byte[]> attacks = new TreeMap<>();
        attacks.put("nothing", new byte[0]);
        attacks.put("random bytes", randomBytes(1 + random.nextInt(100_000)));
        attacks.put("zeros", new byte[100]);
        attacks.put("http", "GET / HTTP/1.1\r\n\r\n".repeat(9).getBytes(StandardCharsets.UTF_8));
        attacks.put("request", request(new byte[0]).bytes());
        attacks.put("half a header", Arrays.copyOf(greeting().bytes(), 39));
        attacks.put("half a hello", Arrays.copyOf(greeting().bytes(), 41));
        RawFrame frame = greeting();
        frame.head = randomBytes(10);
        frame.head[0] = 0x0f;
        attacks.put("malformed hello", frame.bytes());
        frame = greeting();
        frame.headCrc = 1;
        attacks.put("head checksum", frame.bytes());
        frame = greeting();
        frame.headerCrc = 1;
        attacks.put("header checksum", frame.bytes());
        frame = greeting();
        frame.payload = new byte[64 << 10];
        attacks.put("oversized hello", frame.bytes());
        frame = RawFrame.hello(hello.toBuilder().setMinVersion(1000).setMaxVersion(1001).build());
        attacks.put("version", frame.bytes());
        frame =
                RawFrame.hello(
                        hello.toBuilder()
                                .setClusterId(ByteString.copyFromUtf8("another cluster."))
                                .build());
        if (!hello.getClusterId().isEmpty()) {
            attacks.put("cluster id", frame.bytes());
        }
        return attacks;
    }

    private Map<String, byte[]> afterHello() {
        Map<String, byte[]> attacks = new TreeMap<>();
        attacks.put("random bytes", randomBytes(40 + random.nextInt(100_000)));
        attacks.put("second hello", greeting().bytes());
        attacks.put("reply", RawFrame.of(2).bytes());
        attacks.put("kind 0", RawFrame.of(0).bytes());
        attacks.put("kind 200", RawFrame.of(200).bytes());
        attacks.put("half a header", Arrays.copyOf(request(new byte[0]).bytes(), 20));
        attacks.put("half a body", Arrays.copyOf(request(new byte[5000]).bytes(), 4999));
        RawFrame frame = request(new byte[0]);
        frame.bodyLength = MAX_BODY;
        attacks.put("header of the largest frame", frame.bytes());
        frame = request(new byte[0]);
        frame.bodyLength = MAX_BODY + 1;
        attacks.put("oversized", frame.bytes());
        frame = request(new byte[0]);
        frame.bodyLength = -1;
        attacks.put("oversized beyond int", frame.bytes());
        frame = request(new byte[10]);
        frame.headLength = 11;
        attacks.put("head longer than body", frame.bytes());
        frame = request(new byte[10]);
        frame.headLength = -5;
        attacks.put("negative head", frame.bytes());
        frame = request(new byte[10]);
        frame.flags = 1;
        attacks.put("flags", frame.bytes());
        frame = request(new byte[10]);
        frame.reserved = 1;
        attacks.put("reserved bytes", frame.bytes());
        frame = request(new byte[2000]);
        frame.headCrc = 7;
        attacks.put("head checksum", frame.bytes());
        return attacks;
    }

    /**
     * Sends well-formed frames with random heads and payloads: each must be answered, or the
     * connection closed, and the server must live.
     */
    public void fuzzMethods(int rounds, int... methods) throws IOException {
        for (int i = 0; i < rounds; i++) {
            for (int method : methods) {
                try (Socket socket = greeted()) {
                    RawFrame frame = request(randomBytes(random.nextInt(200)));
                    frame.method = method;
                    frame.payload = randomBytes(random.nextInt(200));
                    send(socket, frame.bytes());
                    byte[] answer = frame(socket.getInputStream());
                    if (answer[8] != 2) {
                        throw new AssertionError("method " + method + ": not a reply");
                    }
                } catch (EOFException | SocketException closed) {
                    // allowed
                } catch (SocketTimeoutException e) {
                    throw new AssertionError("method " + method + " was not answered", e);
                }
            }
        }
        assertServes();
    }

    /** A well-behaved peer gets its handshake. */
    public void assertServes() throws IOException {
        greeted().close();
    }

    private RawFrame greeting() {
        return RawFrame.hello(hello);
    }

    private static RawFrame request(byte[] head) {
        RawFrame frame = RawFrame.of(1);
        frame.method = 5;
        frame.head = head;
        return frame;
    }

    private byte[] randomBytes(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private Socket connect() throws IOException {
        Socket socket = new Socket(address.getAddress(), address.getPort());
        socket.setSoTimeout(PATIENCE_MILLIS);
        return socket;
    }

    private Socket greeted() throws IOException {
        Socket socket = connect();
        send(socket, greeting().bytes());
        byte[] answer = frame(socket.getInputStream());
        Hello theirs = Hello.parseFrom(Arrays.copyOfRange(answer, 40, answer.length));
        if (!theirs.getRefusal().isEmpty()) {
            throw new AssertionError("refused: " + theirs.getRefusal());
        }
        return socket;
    }

    private static void send(Socket socket, byte[] bytes) throws IOException {
        try {
            socket.getOutputStream().write(bytes);
        } catch (SocketException alreadyClosed) {
            // found out when reading
        }
    }

    private static byte[] frame(InputStream in) throws IOException {
        byte[] header = in.readNBytes(40);
        if (header.length < 40) {
            throw new EOFException();
        }
        int length = ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN).getInt(4);
        byte[] whole = Arrays.copyOf(header, 40 + length);
        if (in.readNBytes(whole, 40, length) < length) {
            throw new EOFException();
        }
        return whole;
    }

    private static void assertCloses(String attack, Socket socket) throws IOException {
        List<Byte> received = new ArrayList<>();
        try {
            int next;
            while ((next = socket.getInputStream().read()) >= 0) {
                received.add((byte) next);
                if (received.size() > 100_000) {
                    throw new AssertionError(attack + ": answered without end");
                }
            }
        } catch (SocketTimeoutException e) {
            throw new AssertionError(attack + ": the connection was not closed", e);
        } catch (SocketException reset) {
            // closed with our bytes unread
        }
    }
}
