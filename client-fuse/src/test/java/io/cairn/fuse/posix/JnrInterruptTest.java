package io.cairn.fuse.posix;

/** The same through libfuse 2, but for asynchronous I/O: there each request is waited for. */
class JnrInterruptTest extends InterruptTest {
    @Override
    String options() {
        return "binding=jnr";
    }

    @Override
    void killedProcessEndsThoughItsAsynchronousIoIsNotAnswered(boolean atOnce) {}

    @Override
    void otherCallsGoOnWhileManyWritesAreNotAnswered() {}
}
