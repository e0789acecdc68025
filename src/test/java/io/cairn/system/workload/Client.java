package io.cairn.system.workload;

import io.cairn.system.history.Operation.Action;
import io.cairn.system.history.Operation.Outcome;
import io.cairn.system.history.Recorder;
import java.io.IOException;
import java.nio.file.Path;

/** One process of a history, on one mount: does an operation at a time, and records it. */
final class Client {
    private final String name;
    private final Path root;
    private final Recorder recorder;
    private int values;

    /**
     * @param name of the process
     * @param root of the objects, in the mount
     */
    Client(String name, Path root, Recorder recorder) {
        this.name = name;
        this.root = root;
        this.recorder = recorder;
    }

    interface Call {
        /** What is told. */
        String run() throws IOException;
    }

    Path root() {
        return root;
    }

    /** A value that nobody else writes. */
    String newValue() {
        return name + ":" + ++values;
    }

    /** The name of this process, for what belongs to it. */
    String name() {
        return name;
    }

    /** Does what changes nothing: if it fails it might as well not have been asked. */
    void ask(String object, Action action, String argument, Call call) throws IOException {
        run(object, action, argument, call, Outcome.FAILED);
    }

    /** Does what changes the object: if it fails it may have been carried out, or be later. */
    void change(String object, Action action, String argument, Call call) throws IOException {
        run(object, action, argument, call, Outcome.UNKNOWN);
    }

    private void run(String object, Action action, String argument, Call call, Outcome onError)
            throws IOException {
        recorder.invoke(name, object, action, argument);
        String result;
        try {
            result = call.run();
        } catch (IOException e) {
            recorder.complete(name, onError, "error " + e);
            throw e;
        }
        recorder.complete(name, Outcome.OK, result);
    }
}
