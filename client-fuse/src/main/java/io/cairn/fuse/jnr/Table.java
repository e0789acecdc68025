package io.cairn.fuse.jnr;

import java.util.ArrayList;
import java.util.List;
import jnr.ffi.Runtime;
import jnr.ffi.Struct;
import ru.serce.jnrfuse.struct.FuseOperations;

/**
 * The structure fuse_operations, as libfuse gets it. jnr-fuse knows where each operation stands in
 * it. For one thread; what was entered lives as long as this.
 */
final class Table extends FuseOperations {
    /** Paths may be missing, and need not be made, where there is a handle. */
    private static final int NULL_PATH_OK = 1;

    private static final int NO_PATH = 1 << 1;
    private static final int UTIME_OMIT_OK = 1 << 2;

    private final jnr.ffi.Pointer memory;

    /** The native side does not keep them from being collected. */
    private final List<Object> callbacks = new ArrayList<>();

    Table() {
        super(Runtime.getSystemRuntime());
        this.memory = Struct.getMemory(this);
        memory.setMemory(0, Struct.size(this), (byte) 0);
        memory.putInt(flag_nullpath_ok.offset(), NULL_PATH_OK | NO_PATH | UTIME_OMIT_OK);
    }

    <T> void put(AbstractMember where, Class<T> kind, T callback) {
        callbacks.add(callback);
        memory.putPointer(
                where.offset(),
                Runtime.getSystemRuntime().getClosureManager().getClosurePointer(kind, callback));
    }
}
