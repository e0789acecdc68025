package io.cairn.client.name;

import com.google.protobuf.ByteString;
import io.cairn.common.layout.FileLayouts;
import io.cairn.common.posix.EntryNames;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.CreateOp;
import io.cairn.common.proto.MkdirOp;
import io.cairn.common.proto.MknodOp;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.SymlinkOp;
import org.jspecify.annotations.Nullable;

/** What a mutation makes, as the MDS makes it. Stateless. */
final class NewInode {
    private NewInode() {}

    /** In which it makes something; 0: it makes nothing, or opens what there is. */
    static long parent(Mutation mutation) {
        return switch (mutation.getOpCase()) {
            case CREATE -> mutation.getCreate().getParent();
            case MKDIR -> mutation.getMkdir().getParent();
            case SYMLINK -> mutation.getSymlink().getParent();
            case MKNOD -> mutation.getMknod().getParent();
            default -> 0;
        };
    }

    static ByteString name(Mutation mutation) {
        return switch (mutation.getOpCase()) {
            case CREATE -> mutation.getCreate().getName();
            case MKDIR -> mutation.getMkdir().getName();
            case SYMLINK -> mutation.getSymlink().getName();
            case MKNOD -> mutation.getMknod().getName();
            default -> ByteString.EMPTY;
        };
    }

    /**
     * Null where the MDS would refuse it, or might.
     *
     * @param in the attributes of the directory
     */
    static @Nullable Attr attr(Mutation mutation, Attr in) {
        return switch (mutation.getOpCase()) {
            case CREATE -> file(mutation, mutation.getCreate(), in);
            case MKDIR -> directory(mutation, mutation.getMkdir(), in);
            case SYMLINK -> link(mutation, mutation.getSymlink(), in);
            case MKNOD -> node(mutation, mutation.getMknod(), in);
            default -> null;
        };
    }

    private static @Nullable Attr file(Mutation mutation, CreateOp op, Attr in) {
        return op.getAppend()
                ? null
                : made(mutation, Mode.REGULAR | Mode.permissions(op.getMode()), in)
                        .setLayout(in.getLayout())
                        .setSizeCeiling(FileLayouts.firstCeiling(in.getLayout()))
                        .build();
    }

    private static Attr directory(Mutation mutation, MkdirOp op, Attr in) {
        int inherited = in.getMode() & Mode.SET_GID;
        int mode = Mode.DIRECTORY | Mode.permissions(op.getMode()) | inherited;
        return made(mutation, mode, in)
                .setNlink(2)
                .setLayout(in.getLayout())
                .setParent(in.getInode())
                .build();
    }

    private static @Nullable Attr link(Mutation mutation, SymlinkOp op, Attr in) {
        int length = op.getTarget().size();
        return length < 1 || length > EntryNames.MAX_TARGET_BYTES
                ? null
                : made(mutation, Mode.SYMLINK | 0777, in).setSize(length).build();
    }

    private static @Nullable Attr node(Mutation mutation, MknodOp op, Attr in) {
        int type = Mode.type(op.getMode());
        return switch (type) {
            case Mode.FIFO, Mode.SOCKET, Mode.CHARACTER_DEVICE, Mode.BLOCK_DEVICE ->
                    made(mutation, type | Mode.permissions(op.getMode()), in)
                            .setRdev(Mode.isDevice(type) ? op.getRdev() : 0)
                            .build();
            default -> null;
        };
    }

    private static Attr.Builder made(Mutation mutation, int mode, Attr in) {
        boolean inherits = (in.getMode() & Mode.SET_GID) != 0;
        return Attr.newBuilder()
                .setMode(mode)
                .setNlink(1)
                .setUid(mutation.getCredentials().getUid())
                .setGid(inherits ? in.getGid() : mutation.getCredentials().getGid())
                .setAtime(mutation.getTime())
                .setMtime(mutation.getTime())
                .setCtime(mutation.getTime())
                .setBtime(mutation.getTime());
    }
}
