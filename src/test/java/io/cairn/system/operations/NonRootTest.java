package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A mount by somebody who is not root, through fusermount3, in a private mount namespace where
 * /dev/fuse may be opened by everyone.
 */
@Tag("part-2")
class NonRootTest {
    @Test
    void nobodyMountsThroughFusermount() {
        try (Cluster cluster = Cluster.temporary()) {
            cluster.up();
            String mds = cluster.mds();
            String script =
                    """
                    set -e
                    b=$(mktemp -d); chmod 755 $b; chmod 755 '%3$s'
                    mount=
                    clean() {
                        [ -z "$mount" ] || kill -9 $mount 2>/dev/null || true
                        cd /
                        umount -l $b/mnt 2>/dev/null || true
                        umount -l /dev/fuse 2>/dev/null || true
                        rm -rf --one-file-system $b
                    }
                    trap clean EXIT
                    mknod $b/fuse c 10 229; chmod 666 $b/fuse; mount --bind $b/fuse /dev/fuse
                    install -d -o 65534 -g 65534 $b/home $b/mnt
                    cd $b
                    as="setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=$b/home XDG_STATE_HOME=$b/home"
                    mkdir -m 777 '%4$s'/open
                    $as '%1$s/cairn' mount %2$s $b/mnt & mount=$!
                    for i in $(seq 200); do mountpoint -q $b/mnt && break; kill -0 $mount; sleep 0.1; done
                    $as sh -c "echo hello >$b/mnt/open/f && cat $b/mnt/open/f && stat -c %%u $b/mnt/open/f"
                    $as '%1$s/cairn' umount $b/mnt
                    wait $mount
                    mount=
                    """
                            .formatted(Cluster.REPOSITORY, mds, cluster.base(), cluster.mnt());
            Shell.Result result = Shell.run("unshare", "-m", "bash", "-c", script).ok();
            assertThat(result.out()).isEqualTo("hello\n65534\n");
        }
    }
}
