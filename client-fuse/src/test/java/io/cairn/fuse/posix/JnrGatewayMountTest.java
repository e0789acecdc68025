package io.cairn.fuse.posix;

/** What these options promise holds through libfuse 2 too, though nobody should export that. */
class JnrGatewayMountTest extends GatewayMountTest {
    @Override
    String options() {
        return "binding=jnr,wsync,direct_io";
    }
}
