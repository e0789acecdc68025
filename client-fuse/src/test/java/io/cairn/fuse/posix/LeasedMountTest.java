package io.cairn.fuse.posix;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.RecalledName;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.fuse.memory.MemoryClient;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * What the kernel believes without asking, and how it forgets. Leases and timeouts are far longer
 * than any test, so that what is asked again is asked because it was forgotten. "Elsewhere" is
 * another client: it changes things behind the mount's back, after the recall.
 */
class LeasedMountTest {
    private static final int LEASE_MICROS = 2_000_000_000;
    private static final int SIGKILL = 9;

    @RegisterExtension final MountedMemory memory = new MountedMemory("attr_timeout=3600");

    @BeforeEach
    void lease() {
        memory.client().leases(LEASE_MICROS);
    }

    private MemoryClient client() {
        return memory.client();
    }

    private Path path(String name) {
        return memory.mount().mountPoint().resolve(name);
    }

    private static byte[] bytes(String name) {
        return name.getBytes(UTF_8);
    }

    private long inode(String name) {
        return client().lookup(1, bytes(name)).join().getInode();
    }

    private static ReadRecall name(long directory, String name) {
        return ReadRecall.newBuilder()
                .addNames(
                        RecalledName.newBuilder()
                                .setDirectory(directory)
                                .setName(ByteString.copyFromUtf8(name)))
                .build();
    }

    private void recall(ReadRecall recall) {
        client().recall(recall).orTimeout(20, TimeUnit.SECONDS).join();
    }

    private void recallAttributes(long inode) {
        recall(ReadRecall.newBuilder().addInodes(inode).build());
    }

    private int asked() {
        return client().calls("lookup") + client().calls("getattr") + client().calls("readdir");
    }

    private void makeElsewhere(String name) {
        client().mknod(1, bytes(name), 0100644, 0, Credentials.getDefaultInstance()).join();
    }

    private static Posix.Stat stat(byte[] path) {
        return Posix.lstat(path);
    }

    private int mode(String name) {
        return stat(memory.path(name)).mode() & 07777;
    }

    private void chmodElsewhere(long inode, int mode) {
        client().setAttr(
                        SetAttrOp.newBuilder().setInode(inode).setMode(mode).build(),
                        Credentials.getDefaultInstance())
                .join();
    }

    @Test
    void whatWasLookedUpIsNotAskedForAgain() throws IOException {
        Files.createDirectories(path("d/e"));
        Files.createFile(path("d/e/f"));
        assertThat(Files.size(path("d/e/f"))).isZero(); // brings the time of birth too
        int before = asked();
        for (int i = 0; i < 100; i++) {
            assertThat(Files.size(path("d/e/f"))).isZero();
            assertThat(Files.exists(path("d/e/f"))).isTrue();
        }
        assertThat(asked()).isEqualTo(before);
    }

    @Test
    void aNameThatIsMissingIsNotAskedForAgain() {
        assertThat(Files.exists(path("none"))).isFalse();
        int before = asked();
        for (int i = 0; i < 100; i++) {
            assertThat(Files.exists(path("none"))).isFalse();
        }
        assertThat(asked()).isEqualTo(before);
    }

    @Test
    void aListingBringsNamesAndAttributes() throws Exception {
        for (int i = 0; i < 10; i++) {
            makeElsewhere("f" + i);
        }
        int lookups = client().calls("lookup");
        int getattrs = client().calls("getattr");
        Process list = new ProcessBuilder("ls", "-ln", path("") + "").start();
        assertThat(new String(list.getInputStream().readAllBytes(), UTF_8)).contains("f0", "f9");
        assertThat(list.waitFor()).isZero();
        assertThat(client().calls("lookup")).isEqualTo(lookups);
        assertThat(client().calls("getattr") - getattrs).as("the directory").isLessThan(3);
    }

    private int xattrsAsked() {
        return client().calls("getxattr") + client().calls("listxattr");
    }

    /** Before the first write the kernel wants to know whether the file has capabilities. */
    @Test
    void filesThatAreMadeAndWrittenAreNotAskedForXattrs() throws IOException {
        for (int i = 0; i < 100; i++) {
            Files.write(path("f" + i), bytes("content"));
            Files.write(path("f" + i), bytes("longer content"));
        }
        assertThat(xattrsAsked()).isZero();
        client().leases(0);
        Files.write(path("g"), bytes("content"));
        assertThat(xattrsAsked()).as("the kernel does ask").isPositive();
    }

    private int getxattr(String name) {
        return (int) Posix.getxattr(memory.path(name), "user.a", 10).result();
    }

    private int listxattr(String name) {
        return (int) Posix.listxattr(memory.path(name)).result();
    }

    @Test
    void xattrsSetElsewhereAreThere() {
        makeElsewhere("f");
        long f = inode("f");
        assertThat(stat(memory.path("f")).mode() & 07777).isEqualTo(0644);
        assertThat(getxattr("f")).isEqualTo(-Errno.ENODATA.number());
        assertThat(listxattr("f")).isZero();
        assertThat(xattrsAsked()).isZero();
        recallAttributes(f);
        client().setXattr(f, bytes("user.a"), bytes("value"), 0).join();
        assertThat(getxattr("f")).isEqualTo(5);
        assertThat(listxattr("f")).isEqualTo("user.a".length() + 1);
        recallAttributes(f);
        client().removeXattr(f, bytes("user.a")).join();
        assertThat(getxattr("f")).isEqualTo(-Errno.ENODATA.number());
    }

    @Test
    void xattrsSetHereAreThere() {
        makeElsewhere("f");
        assertThat(stat(memory.path("f")).mode() & 07777).isEqualTo(0644);
        assertThat(getxattr("f")).isEqualTo(-Errno.ENODATA.number());
        int before = xattrsAsked();
        assertThat(Posix.setxattr(memory.path("f"), "user.a", bytes("value"), 0)).isZero();
        assertThat(getxattr("f")).isEqualTo(5);
        assertThat(listxattr("f")).isEqualTo("user.a".length() + 1);
        assertThat(xattrsAsked()).isEqualTo(before + 2);
    }

    /** The layout is not among what was set. */
    @Test
    void virtualXattrsAreAskedFor() {
        makeElsewhere("f");
        assertThat(stat(memory.path("f")).mode() & 07777).isEqualTo(0644);
        assertThat(Posix.getxattr(memory.path("f"), "cairn.layout", 100).result()).isNegative();
        assertThat(client().calls("getxattr")).isEqualTo(1);
    }

    @Test
    void aNameRemovedElsewhereIsGone() {
        makeElsewhere("f");
        assertThat(Files.exists(path("f"))).isTrue();
        recall(name(1, "f"));
        client().unlink(1, bytes("f")).join();
        assertThat(Files.exists(path("f"))).isFalse();
    }

    @Test
    void aNameMadeElsewhereIsThere() {
        assertThat(Files.exists(path("f"))).isFalse();
        recall(name(1, "f"));
        makeElsewhere("f");
        assertThat(Files.exists(path("f"))).isTrue();
    }

    @Test
    void aNameThatIsAnotherFileElsewhereIsThatFile() throws IOException {
        makeElsewhere("f");
        makeElsewhere("g");
        long g = inode("g");
        assertThat(Files.getAttribute(path("f"), "unix:ino")).isNotEqualTo(g);
        recall(name(1, "f"));
        recall(name(1, "g"));
        client().rename(1, bytes("g"), 1, bytes("f"), 0).join();
        assertThat(Files.getAttribute(path("f"), "unix:ino")).isEqualTo(g);
        assertThat(Files.exists(path("g"))).isFalse();
    }

    @Test
    void attributesChangedElsewhereAreSeen() {
        makeElsewhere("f");
        assertThat(mode("f")).isEqualTo(0644);
        recallAttributes(inode("f"));
        chmodElsewhere(inode("f"), 0600);
        assertThat(mode("f")).isEqualTo(0600);
    }

    @Test
    void oneRecallNamesSeveral() {
        makeElsewhere("f");
        makeElsewhere("g");
        assertThat(Files.exists(path("f"))).isTrue();
        assertThat(Files.exists(path("g"))).isTrue();
        recall(name(1, "f").toBuilder().mergeFrom(name(1, "g")).build());
        client().unlink(1, bytes("f")).join();
        client().unlink(1, bytes("g")).join();
        assertThat(Files.exists(path("f"))).isFalse();
        assertThat(Files.exists(path("g"))).isFalse();
    }

    /** It is asked for before the recall and answered after it. */
    @Test
    void anAnswerThatARecallOvertookIsBelievedOnce() throws Exception {
        makeElsewhere("f");
        client().holdBack("lookup");
        Process late = new ProcessBuilder("stat", path("f").toString()).start();
        Awaitility.await().until(() -> client().heldBack("lookup") > 0);
        CompletableFuture<Void> forgotten = client().recall(name(1, "f"));
        client().letGo("lookup");
        forgotten.orTimeout(20, TimeUnit.SECONDS).join();
        assertThat(late.waitFor()).isZero();
        client().unlink(1, bytes("f")).join();
        assertThat(Files.exists(path("f"))).isFalse();
    }

    /** The lock of the directory is held as long as the create is not answered. */
    @Test
    void aRecallWaitsForARequestInTheDirectory() throws Exception {
        makeElsewhere("f");
        assertThat(Files.exists(path("f"))).isTrue();
        client().holdBack("mkdir");
        Process blocked = new ProcessBuilder("mkdir", path("d").toString()).start();
        Awaitility.await().until(() -> client().heldBack("mkdir") > 0);
        CompletableFuture<Void> recalled = CompletableFuture.runAsync(() -> recall(name(1, "f")));
        client().letGo("mkdir");
        recalled.join();
        assertThat(blocked.waitFor()).isZero();
        client().unlink(1, bytes("f")).join();
        assertThat(Files.exists(path("f"))).isFalse();
    }

    // ---- what this mount changes itself

    @Test
    void whatIsMadeIsNotAskedFor() throws IOException {
        Files.createDirectory(path("d"));
        Files.createFile(path("d/f"));
        int before = client().calls("lookup");
        for (int i = 0; i < 10; i++) {
            assertThat(Files.exists(path("d/f"))).isTrue();
        }
        assertThat(client().calls("lookup")).isEqualTo(before);
        recall(name(inode("d"), "f"));
        client().unlink(inode("d"), bytes("f")).join();
        assertThat(Files.exists(path("d/f"))).isFalse();
    }

    @Test
    void linksAndUnlinksAreSeenInTheOtherNames() throws IOException {
        Files.createFile(path("f"));
        assertThat(Files.getAttribute(path("f"), "unix:nlink")).isEqualTo(1);
        Files.createLink(path("g"), path("f"));
        assertThat(Files.getAttribute(path("f"), "unix:nlink")).isEqualTo(2);
        Object changed = Files.getAttribute(path("f"), "unix:ctime");
        Files.delete(path("g"));
        assertThat(Files.getAttribute(path("f"), "unix:nlink")).isEqualTo(1);
        assertThat(Files.getAttribute(path("f"), "unix:ctime")).isNotEqualTo(changed);
        assertThat(Files.exists(path("g"))).isFalse();
    }

    @Test
    void directoriesShowWhatIsMadeAndRemovedInThem() throws IOException {
        Files.createDirectory(path("d"));
        assertThat(Files.getAttribute(path("d"), "unix:nlink")).isEqualTo(2);
        Object before = Files.getAttribute(path("d"), "lastModifiedTime");
        Files.createDirectory(path("d/e"));
        assertThat(Files.getAttribute(path("d"), "unix:nlink")).isEqualTo(3);
        assertThat(Files.getAttribute(path("d"), "lastModifiedTime")).isNotEqualTo(before);
        Files.delete(path("d/e"));
        assertThat(Files.getAttribute(path("d"), "unix:nlink")).isEqualTo(2);
    }

    @Test
    void renamesAreSeen() throws IOException {
        Files.createFile(path("f"));
        Object changed = Files.getAttribute(path("f"), "unix:ctime");
        Object inode = Files.getAttribute(path("f"), "unix:ino");
        Files.move(path("f"), path("g"));
        assertThat(Files.exists(path("f"))).isFalse();
        assertThat(Files.getAttribute(path("g"), "unix:ctime")).isNotEqualTo(changed);
        assertThat(Files.getAttribute(path("g"), "unix:ino")).isEqualTo(inode);
    }

    /** The kernel takes what it believes of the old name over to the new one. */
    @Test
    void whatWasRenamedHereAndRemovedElsewhereIsGone() throws IOException {
        makeElsewhere("f");
        assertThat(Files.exists(path("f"))).isTrue();
        assertThat(Files.exists(path("g"))).isFalse();
        Files.move(path("f"), path("g"), StandardCopyOption.ATOMIC_MOVE);
        int before = client().calls("lookup");
        assertThat(Files.exists(path("g"))).isTrue();
        assertThat(client().calls("lookup")).as("still believed").isEqualTo(before);
        recall(name(1, "g"));
        client().unlink(1, bytes("g")).join();
        assertThat(Files.exists(path("g"))).isFalse();
    }

    @Test
    void exchangedNamesAreSeen() throws IOException {
        makeElsewhere("f");
        makeElsewhere("g");
        Object f = Files.getAttribute(path("f"), "unix:ino");
        Object g = Files.getAttribute(path("g"), "unix:ino");
        assertThat(Posix.call("renameat2", -100, memory.path("f"), -100, memory.path("g"), 2))
                .isZero();
        assertThat(Files.getAttribute(path("f"), "unix:ino")).isEqualTo(g);
        assertThat(Files.getAttribute(path("g"), "unix:ino")).isEqualTo(f);
    }

    /** The kernel has given up the request, and does not know that it was carried out. */
    @Test
    void whatAKilledProcessRenamedIsSeen() throws Exception {
        makeElsewhere("f");
        assertThat(Files.exists(path("f"))).isTrue();
        assertThat(Files.exists(path("g"))).isFalse();
        client().holdBack("rename");
        Process killed = new ProcessBuilder("mv", path("f") + "", path("g") + "").start();
        Awaitility.await().until(() -> client().heldBack("rename") > 0);
        assertThat(Posix.call("kill", (int) killed.pid(), SIGKILL)).isZero();
        killed.waitFor();
        assertThat(Files.exists(path("f"))).as("not carried out yet").isTrue();
        assertThat(Files.exists(path("g"))).isFalse();
        client().letGo("rename");
        Awaitility.await().until(() -> Files.exists(path("g")) && !Files.exists(path("f")));
    }

    @Test
    void aNameTakenElsewhereIsFoundByWhoThoughtItFree() throws IOException {
        assertThat(Files.exists(path("f"))).isFalse();
        makeElsewhere("f"); // without a recall: as if the lease had just ended
        assertThatThrownBy(() -> Files.createFile(path("f")))
                .isInstanceOf(FileAlreadyExistsException.class);
        Files.writeString(path("f"), "x");
        assertThat(Files.size(path("f"))).isEqualTo(1);
    }

    @Test
    void nothingIsBelievedInANewSession() {
        makeElsewhere("f");
        assertThat(Files.exists(path("f"))).isTrue();
        client().newSession();
        client().unlink(1, bytes("f")).join();
        Awaitility.await().until(() -> !Files.exists(path("f")));
        assertThatThrownBy(() -> Files.size(path("f"))).isInstanceOf(NoSuchFileException.class);
    }
}
