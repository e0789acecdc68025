package io.cairn.dataserver.chunk;

import io.cairn.dataserver.chunk.PgLogState.Answered;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Layout of the answered numbers of sessions, little-endian: within a PG's history ({@link
 * PgStateFormat}) and in the log, as the payload of a RESET.
 *
 * <pre>
 * for each session:
 *  0 u64 session
 *  8 u64 acknowledged below
 * 16 u32 count
 * 20     u64 number of each mutation executed
 * </pre>
 */
public final class AnsweredFormat {
    /** Of all sessions of a PG together: what a RESET takes into the log, as one record. */
    public static final int MAX_BYTES = 4 << 20;

    private static final int SESSION_BYTES = 20;
    private static final int NUMBER_BYTES = 8;

    private AnsweredFormat() {}

    /** Throws ArithmeticException if it is more than 2 GiB. */
    public static int encodedLength(List<Answered> answered) {
        return Math.toIntExact(bytes(answered));
    }

    /** Whether a RESET takes it. */
    public static boolean fits(List<Answered> answered) {
        return bytes(answered) <= MAX_BYTES;
    }

    private static long bytes(List<Answered> answered) {
        long bytes = 0;
        for (Answered a : answered) {
            bytes += SESSION_BYTES + (long) NUMBER_BYTES * a.numbers().length;
        }
        return bytes;
    }

    /** All of it, on its own. */
    public static ByteBuffer encode(List<Answered> answered) {
        ByteBuffer b = ByteBuffer.allocate(encodedLength(answered)).order(ByteOrder.LITTLE_ENDIAN);
        encode(answered, b);
        return b.flip();
    }

    /** Writes at the position of a little-endian buffer, which moves behind it. */
    static void encode(List<Answered> answered, ByteBuffer b) {
        for (Answered a : answered) {
            b.putLong(a.session()).putLong(a.ackedBelow()).putInt(a.numbers().length);
            for (long n : a.numbers()) {
                b.putLong(n);
            }
        }
    }

    /**
     * Sessions until the end of the buffer, of any byte order.
     *
     * @throws IndexDamagedException if it ends within one
     */
    public static List<Answered> decode(ByteBuffer bytes) {
        ByteBuffer b = bytes.slice().order(ByteOrder.LITTLE_ENDIAN);
        List<Answered> answered = new ArrayList<>();
        while (b.hasRemaining()) {
            answered.add(decodeOne(b));
        }
        return answered;
    }

    /** The session at the position of a little-endian buffer, which moves behind it. */
    static Answered decodeOne(ByteBuffer b) {
        if (b.remaining() < SESSION_BYTES) {
            throw new IndexDamagedException("answered numbers end within a session");
        }
        long session = b.getLong();
        long ackedBelow = b.getLong();
        int count = b.getInt();
        if (count < 0 || count > b.remaining() / NUMBER_BYTES) {
            throw new IndexDamagedException(count + " answered numbers of a session");
        }
        long[] numbers = new long[count];
        for (int n = 0; n < count; n++) {
            numbers[n] = b.getLong();
        }
        return new Answered(session, ackedBelow, numbers);
    }
}
