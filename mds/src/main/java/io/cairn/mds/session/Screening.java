package io.cairn.mds.session;

import com.google.protobuf.InvalidProtocolBufferException;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.mds.namespace.Features;
import io.netty.buffer.ByteBuf;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps mutations out of the log that members might execute differently: those with operations or
 * fields that this version does not know, or that need a higher feature level than the group's.
 * Such a mutation is replaced by its refusal, which uses up its number. Any thread.
 */
final class Screening {
    private static final Mutation REFUSED =
            Mutation.newBuilder().setRefusedErrno(Errno.EOPNOTSUPP.number()).build();

    private final Features features;
    private final IntSupplier level;

    /**
     * @param level the group's
     */
    Screening(Features features, IntSupplier level) {
        this.features = features;
        this.level = level;
    }

    /**
     * A batch as it may be logged; only refusals of this class are among its mutations.
     *
     * @throws FsException EPROTO where it is none, EOPNOTSUPP where what is not known is not part
     *     of a mutation
     */
    MutateRequest batch(ByteBuf head) {
        try {
            @Nullable MutateRequest plain =
                    Features.plain(MutateRequest.parser(), head.nioBuffer());
            MutateRequest batch =
                    plain != null ? plain : MutateRequest.parser().parseFrom(head.nioBuffer());
            if (!batch.getUnknownFields().asMap().isEmpty()) {
                throw new FsException(Errno.EOPNOTSUPP, "a batch with " + Features.unknown(batch));
            }
            return screened(batch, plain != null);
        } catch (InvalidProtocolBufferException e) {
            throw new FsException(Errno.EPROTO, "malformed batch: " + e.getMessage());
        }
    }

    private MutateRequest screened(MutateRequest batch, boolean plain) {
        MutateRequest.@Nullable Builder changed = null;
        for (int i = 0; i < batch.getMutationsCount(); i++) {
            Mutation own = batch.getMutations(i);
            Mutation screened = screened(own, plain);
            if (!screened.equals(own)) {
                changed = changed == null ? batch.toBuilder() : changed;
                changed.setMutations(i, screened);
            }
        }
        return changed == null ? batch : changed.build();
    }

    private Mutation screened(Mutation m, boolean plain) {
        boolean known =
                m.getOpCase() != Mutation.OpCase.OP_NOT_SET
                        && (plain || Features.unknown(m) == null)
                        && features.above(m, level.getAsInt()) == null;
        if (!known) {
            return REFUSED;
        }
        return m.getRefusedErrno() == 0 ? m : m.toBuilder().clearRefusedErrno().build();
    }
}
