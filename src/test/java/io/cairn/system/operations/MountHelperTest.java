package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.SharedCluster;
import io.cairn.system.support.Shell;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * mount(8) and what it reads, with the helper linked as an administrator links it: in a mount
 * namespace of the test's own, whose /sbin has the links.
 */
@Tag("part-5")
@ExtendWith(SharedCluster.class)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class MountHelperTest {
    private static final String FRAME =
            """
            set -eE
            trap 'echo "line $LINENO: $BASH_COMMAND" >&2; tail -n 5 $b/*.log >&2' ERR
            repository='%s'; all='%s'; b='%s/helper'; source='%s:/'
            mkdir -p $b/sbin $b/mnt
            ln -sf $repository/tools/mount.cairn $b/sbin/mount.cairn
            ln -sf $repository/tools/mount.cairn $b/sbin/mount.fuse.cairn
            mount -t overlay overlay -o lowerdir=$b/sbin:/usr/sbin /usr/sbin
            export CAIRN_LOG_DIR=$b
            m=$b/mnt
            cleanup() { umount -l $m 2>/dev/null || true; }
            trap cleanup EXIT
            has() { for o; do [[ ,$(findmnt -n -o OPTIONS --mountpoint $m), == *,$o,* ]]; done; }
            lacks() { for o; do [[ ,$(findmnt -n -o OPTIONS --mountpoint $m), != *,$o,* ]]; done; }
            refused() { [[ $(touch $m/new 2>&1) == *Read-only* ]]; }
            unmounted() { umount $m; while pgrep -f "io.cairn.cli.Main mount .* $m " >/dev/null; do sleep 0.1; done; }
            """;

    private final Cluster cluster;

    MountHelperTest(Cluster cluster) {
        this.cluster = cluster;
    }

    private String run(String script) {
        String frame =
                FRAME.formatted(Cluster.REPOSITORY, cluster.mnt(), cluster.base(), cluster.mds());
        return Shell.run("unshare", "-m", "bash", "-c", frame + script).ok().out();
    }

    @Test
    void theUsualOptionsAreTakenAndHaveTheirEffect() {
        run(
                """
                mount -t cairn $source $m -o defaults,noatime,nodiratime,dirsync,noexec,_netdev,nofail,x-systemd.automount,user
                has rw noatime nodiratime dirsync noexec nosuid nodev
                printf '#!/bin/sh\\n' >$m/program; chmod 755 $m/program
                [[ $($m/program 2>&1) == *denied* ]]
                unmounted
                mount -t cairn $source $m -o sync,suid,dev,exec,strictatime
                has rw sync; lacks noatime nosuid nodev noexec relatime
                $m/program; rm $m/program
                unmounted
                """);
    }

    @Test
    void remountedByMountAndByCairn() {
        String out =
                run(
                        """
                        mount -t cairn $source $m -o noexec,nosuid,relatime
                        : >$m/new
                        mount -o remount,ro $m; has ro noexec nosuid relatime; lacks nodev; refused
                        mount -o remount,rw $m; lacks ro; has noexec nosuid; touch $m/new
                        mount -t cairn -o remount,ro $source $m; refused
                        $repository/cairn mount -o remount,rw,exec $m; touch $m/new; lacks noexec
                        $repository/cairn mount $source $m -o remount,ro; refused
                        mount -o remount,rw,noatime $m; has noatime; lacks relatime
                        exec 3>>$m/new
                        ! mount -o remount,ro $m 2>$b/busy; cat $b/busy
                        exec 3>&-; rm $m/new
                        unmounted
                        """);
        assertThat(out).contains("open for writing");
    }

    /** With an option of Cairn's own, which mount(8) gives to the helper at a remount too. */
    @Test
    void aLineOfFstab() {
        run(
                """
                echo "$source $m cairn noauto,_netdev,x-systemd.requires=network-online.target,attr_timeout=3 0 0" >$b/fstab
                mount -T $b/fstab $m; lacks nosuid nodev
                : >$m/new
                mount -T $b/fstab -o remount,ro $m; refused
                mount -T $b/fstab -o remount,rw $m; rm $m/new
                sed -i s/noauto,// $b/fstab
                mount -a -T $b/fstab
                [ $(findmnt -n --mountpoint $m | wc -l) = 1 ]
                unmounted
                mount -a -T $b/fstab; has rw
                unmounted
                """);
    }

    @Test
    void theMountOfUpIsRemountedToo() {
        run(
                """
                m=$all
                mount -o remount,ro $m; refused
                mount -o remount,rw $m; touch $m/new; rm $m/new
                m=$b/mnt
                """);
        assertThat(Cluster.cairn("mount", "-o", "remount,ro").exitCode()).isEqualTo(2);
        Cluster.cairn("mount", "-o", "remount,ro", cluster.base().toString())
                .saysOneLine(1, "nothing is mounted on " + cluster.base());
        Cluster.cairn("mount", cluster.mds()).saysOneLine(2, "MOUNTPOINT");
    }
}
