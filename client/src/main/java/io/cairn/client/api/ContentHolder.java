package io.cairn.client.api;

/**
 * Who keeps contents of regular files that it has read or written through this client, as a kernel
 * keeps pages, and wants to know whether they are still those of the file. Called on event loops
 * and on threads that wait for operations; must not block.
 */
public interface ContentHolder {
    /**
     * All changes of the inode after {@code from}, up to {@code to}, as {@code change} in its
     * attributes counts, were made by this client; and all that they did to the contents was done
     * by writes, each of which has succeeded for its caller, or is to fail for it, or {@link
     * #changedUnseen} was said. Before whoever waits for a change is answered. Not said of
     * everything that it is true for, such as changes of size.
     */
    void changedHere(long inode, long from, long to);

    /**
     * A write has been carried out, as a whole or in part, whose caller was told before that it had
     * failed or no longer waited for it.
     */
    void changedUnseen(long inode);
}
