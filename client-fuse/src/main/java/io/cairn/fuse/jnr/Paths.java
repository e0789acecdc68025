package io.cairn.fuse.jnr;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.cairn.client.api.CairnClient;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import org.jspecify.annotations.Nullable;

/**
 * From paths to inodes. A path begins with '/', the mounted directory, and has one character for
 * each byte of it. Any thread; waits for the client.
 */
final class Paths {
    private final CairnClient client;
    private final Calls calls;
    private final long rootInode;
    private final Dentries dentries = new Dentries();

    /** A directory and a name in it. */
    record Place(long parent, String name) {
        byte[] bytes() {
            return name.getBytes(ISO_8859_1);
        }
    }

    Paths(CairnClient client, Calls calls, long rootInode) {
        this.client = client;
        this.calls = calls;
        this.rootInode = rootInode;
        client.onNewSession(dentries::clear);
    }

    /** Asks for the last name of the path, whatever is known of it. */
    Attr attributes(String path) {
        if (isRoot(path)) {
            return calls.await(client.getAttr(rootInode));
        }
        return lookup(place(path));
    }

    private Attr lookup(Place place) {
        try {
            Attr attr = calls.await(client.lookup(place.parent, place.bytes()));
            known(place, attr.getInode());
            return attr;
        } catch (FsException e) {
            if (e.errno() == Errno.ENOENT) {
                forget(place);
            }
            throw e;
        }
    }

    /** The inode the kernel was last told for this path. */
    long inode(String path) {
        return isRoot(path) ? rootInode : inode(place(path));
    }

    private long inode(Place place) {
        @Nullable Long known = dentries.get(place.parent, place.name);
        return known == null ? lookup(place).getInode() : known;
    }

    /** Where the path's last name is; of the root it is never asked. */
    Place place(String path) {
        long directory = rootInode;
        int start = 1;
        int end = path.indexOf('/', start);
        while (end >= 0) {
            directory = inode(new Place(directory, path.substring(start, end)));
            start = end + 1;
            end = path.indexOf('/', start);
        }
        return new Place(directory, path.substring(start));
    }

    void known(Place place, long inode) {
        dentries.put(place.parent, place.name, inode);
    }

    void forget(Place place) {
        dentries.remove(place.parent, place.name);
    }

    void moved(Place from, Place to) {
        dentries.move(from.parent, from.name, to.parent, to.name);
    }

    long rootInode() {
        return rootInode;
    }

    private static boolean isRoot(String path) {
        return path.length() == 1;
    }
}
