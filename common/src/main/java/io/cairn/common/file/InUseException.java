package io.cairn.common.file;

import java.io.IOException;

/** Another process has what this one needs: a directory, a mount point. Trying later may help. */
public final class InUseException extends IOException {
    private static final long serialVersionUID = 1;

    public InUseException(String message) {
        super(message);
    }
}
