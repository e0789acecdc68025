package io.cairn.mds.server;

import com.google.protobuf.InvalidProtocolBufferException;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.MutateRequest;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Stands between client and metadata server and passes everything on, but keeps the successful
 * answers to mutations for itself. After so many of them it does something, before it reads on:
 * kills the server, say. Reads frames as docs/formats/rpc.md says.
 */
final class ReplyThief implements AutoCloseable {
    private static final int HEADER_BYTES = 40;
    private static final int BODY_LENGTH_AT = 4;
    private static final int KIND_AT = 8;
    private static final int METHOD_AT = 10;
    private static final int REQUEST_ID_AT = 12;
    private static final int STATUS_AT = 20;
    private static final int HEAD_LENGTH_AT = 24;
    private static final int REPLY = 2;

    private final InetSocketAddress target;
    private final ServerSocket listener;
    private final int answers;
    private final Runnable then;

    /** First numbers of the batches sent, by request id; the test has one connection. */
    private final Map<Long, Long> numbers = new ConcurrentHashMap<>();

    /** What was taken, by the first number of its batch. */
    final Map<Long, MutateReply> taken = new ConcurrentHashMap<>();

    /**
     * @param then run once so many answers were taken
     */
    ReplyThief(InetSocketAddress target, int answers, Runnable then) throws IOException {
        this.target = target;
        this.answers = answers;
        this.then = then;
        this.listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        start(this::accept);
    }

    InetSocketAddress address() {
        return (InetSocketAddress) listener.getLocalSocketAddress();
    }

    private static void start(Work work) {
        Thread.ofVirtual()
                .start(() -> {
                    try {
                        work.run();
                    } catch (IOException e) {
                        // One of the two has closed its connection: so does the other.
                    }
                });
    }

    private interface Work {
        void run() throws IOException;
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = listener.accept();
            Socket server = new Socket(target.getAddress(), target.getPort());
            start(() -> pass(client, server, false));
            start(() -> pass(server, client, true));
        }
    }

    private void pass(Socket from, Socket to, boolean replies) throws IOException {
        try (from;
                to) {
            DataInputStream in = new DataInputStream(from.getInputStream());
            OutputStream out = to.getOutputStream();
            while (true) {
                byte[] header = in.readNBytes(HEADER_BYTES);
                if (header.length < HEADER_BYTES) {
                    return;
                }
                ByteBuffer fields = ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN);
                byte[] body = in.readNBytes(fields.getInt(BODY_LENGTH_AT));
                if (!replies) {
                    note(fields, body);
                } else if (take(fields, body)) {
                    continue;
                }
                out.write(header);
                out.write(body);
                out.flush();
            }
        }
    }

    private void note(ByteBuffer header, byte[] body) throws InvalidProtocolBufferException {
        if (header.getShort(METHOD_AT) == Method.MUTATE_VALUE) {
            numbers.put(
                    header.getLong(REQUEST_ID_AT), MutateRequest.parseFrom(body).getFirstNumber());
        }
    }

    private boolean take(ByteBuffer header, byte[] body) throws InvalidProtocolBufferException {
        Long first = numbers.get(header.getLong(REQUEST_ID_AT));
        if (header.get(KIND_AT) != REPLY || first == null || header.getInt(STATUS_AT) != 0) {
            return false;
        }
        ByteBuffer head = ByteBuffer.wrap(body, 0, header.getInt(HEAD_LENGTH_AT));
        taken.put(first, MutateReply.parseFrom(head));
        if (taken.size() == answers) {
            then.run();
        }
        return true;
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
