package io.cairn.fuse.posix;

/**
 * The same through libfuse 2, which has no flags of rename and finds attributes by path only. The
 * kernel keeps no attributes here: it would have those of each name of a file.
 */
class JnrRandomOperationsTest extends RandomOperationsTest {
    @Override
    String options() {
        return "binding=jnr,attr_timeout=0";
    }

    @Override
    boolean byInode() {
        return false;
    }
}
