package io.cairn.fuse.session;

/** What serves the requests of a mount, INIT and INTERRUPT excepted. */
public interface RequestHandler {
    /**
     * Starts to serve a request and returns without waiting; on a reader thread. The body is valid
     * until it returns. What it throws becomes the answer.
     */
    void handle(FuseRequest request, RequestBody body);
}
