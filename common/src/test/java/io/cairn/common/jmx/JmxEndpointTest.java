package io.cairn.common.jmx;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.config.Config;
import io.cairn.common.config.HostPort;
import java.io.IOException;
import java.io.Serial;
import java.io.Serializable;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.rmi.Remote;
import java.rmi.RemoteException;
import java.rmi.registry.LocateRegistry;
import java.rmi.registry.Registry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import javax.management.Attribute;
import javax.management.MBeanServer;
import javax.management.MBeanServerConnection;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sessions of remote clients with an endpoint on 127.0.0.1. */
class JmxEndpointTest {
    private static final HostPort ANY_PORT = HostPort.parse("127.0.0.1:0");
    private static final String[] ALICE = {"alice", "right"};

    private final MBeanServer beans = MBeanServerFactory.newMBeanServer();
    private final ThingBean bean = new ThingBean();

    @TempDir private Path directory;

    /** What clients look at. */
    public interface Thing {
        int getNumber();

        void setNumber(int number);

        int twice();
    }

    private static final class ThingBean implements Thing {
        private volatile int number = 21;

        @Override
        public int getNumber() {
            return number;
        }

        @Override
        public void setNumber(int number) {
            this.number = number;
        }

        @Override
        public int twice() {
            return 2 * number;
        }
    }

    @BeforeEach
    void register() throws Exception {
        beans.registerMBean(new javax.management.StandardMBean(bean, Thing.class), name());
    }

    @Test
    void theRightPasswordReadsAndOthersAreNotLetIn() throws Exception {
        try (JmxEndpoint endpoint = endpoint("password_file = 'users'", "users", "alice right\n")) {
            assertThat(number(endpoint, ALICE)).isEqualTo(21);
            for (String[] wrong :
                    new String[][] {
                        {"alice", "wrong"}, {"alice", ""}, {"bob", "right"}, {"alice"}, {}
                    }) {
                assertThatThrownBy(() -> number(endpoint, wrong))
                        .isInstanceOf(SecurityException.class)
                        .hasMessage("wrong name or password for JMX");
            }
            assertThatThrownBy(() -> number(endpoint, null)).isInstanceOf(SecurityException.class);
        }
    }

    @Test
    void aNewPasswordCountsFromTheNextLoginOn() throws Exception {
        try (JmxEndpoint endpoint = endpoint("password_file = 'users'", "users", "alice old\n");
                JMXConnector session = connect(endpoint, new String[] {"alice", "old"})) {
            secret("users", "# rotated\n\n alice\tright \n");
            assertThat(number(endpoint, ALICE)).isEqualTo(21);
            assertThatThrownBy(() -> number(endpoint, new String[] {"alice", "old"}))
                    .isInstanceOf(SecurityException.class);
            assertThat(session.getMBeanServerConnection().getAttribute(name(), "Number"))
                    .isEqualTo(21);
            Files.delete(directory.resolve("users"));
            assertThatThrownBy(() -> number(endpoint, ALICE)).isInstanceOf(SecurityException.class);
            publicFile("users", "alice right\n");
            assertThatThrownBy(() -> number(endpoint, ALICE)).isInstanceOf(SecurityException.class);
        }
    }

    @Test
    void usersReadOnlyUnlessTheAccessFileSaysMore() throws Exception {
        publicFile("access", "alice readwrite\nbob readonly\n");
        try (JmxEndpoint endpoint =
                endpoint(
                        "password_file = 'users'\naccess_file = 'access'",
                        "users",
                        "alice right\nbob b\ncarol c\n")) {
            for (String[] user : new String[][] {{"bob", "b"}, {"carol", "c"}}) {
                try (JMXConnector session = connect(endpoint, user)) {
                    assertReadsOnly(session.getMBeanServerConnection());
                }
            }
            try (JMXConnector session = connect(endpoint, ALICE)) {
                MBeanServerConnection server = session.getMBeanServerConnection();
                server.setAttribute(name(), new Attribute("Number", 4));
                assertThat(bean.getNumber()).isEqualTo(4);
                assertThat(server.invoke(name(), "twice", null, null)).isEqualTo(8);
                assertThatThrownBy(() -> server.unregisterMBean(name()))
                        .isInstanceOf(SecurityException.class);
                assertThatThrownBy(() -> server.createMBean("javax.management.timer.Timer", null))
                        .isInstanceOf(SecurityException.class);
            }
        }
    }

    @Test
    void withoutPasswordsWhoeverIsOnThisMachineOnlyReads() throws Exception {
        try (JmxEndpoint endpoint = new JmxEndpoint(ANY_PORT, JmxConfig.none(), beans);
                JMXConnector session = connect(endpoint, null)) {
            assertReadsOnly(session.getMBeanServerConnection());
        }
    }

    private void assertReadsOnly(MBeanServerConnection server) throws Exception {
        assertThat(server.getAttribute(name(), "Number")).isEqualTo(21);
        assertThat(server.queryNames(new ObjectName("io.cairn:*"), null)).containsExactly(name());
        assertThat(server.getMBeanInfo(name()).getAttributes()).hasSize(1);
        assertThatThrownBy(() -> server.setAttribute(name(), new Attribute("Number", 4)))
                .isInstanceOf(SecurityException.class)
                .hasMessageContaining("access_file");
        assertThatThrownBy(() -> server.invoke(name(), "twice", null, null))
                .isInstanceOf(SecurityException.class);
        assertThatThrownBy(() -> server.unregisterMBean(name()))
                .isInstanceOf(SecurityException.class);
        assertThat(bean.getNumber()).isEqualTo(21);
    }

    @Test
    void itListensOnItsOneAddressAndOnNothingElse() throws Exception {
        Set<String> before = listening();
        try (JmxEndpoint endpoint = endpoint("password_file = 'users'", "users", "alice right\n")) {
            assertThat(number(endpoint, ALICE)).isEqualTo(21);
            int port = endpoint.address().port();
            Set<String> now = listening();
            now.removeAll(before);
            assertThat(now).containsExactly("127.0.0.1:" + port);
            assertThatThrownBy(() -> new Socket(InetAddress.getByName("127.0.0.2"), port).close())
                    .isInstanceOf(ConnectException.class);
        }
        assertThat(listening()).isEqualTo(before);
    }

    /** Of this process: the inodes of its sockets, looked up in the kernel's tables. */
    private static Set<String> listening() throws IOException {
        Set<String> inodes = new TreeSet<>();
        try (var files = Files.list(Path.of("/proc/self/fd"))) {
            for (Path file : files.toList()) {
                try {
                    inodes.add(Files.readSymbolicLink(file).toString());
                } catch (IOException e) {
                    continue; // the directory's own, closed by now
                }
            }
        }
        Set<String> addresses = new TreeSet<>();
        for (String table : List.of("tcp", "tcp6")) {
            for (String line : Files.readAllLines(Path.of("/proc/self/net", table))) {
                String[] words = line.strip().split("\\s+", -1);
                if (words[3].equals("0A") && inodes.contains("socket:[" + words[9] + "]")) {
                    String[] address = words[1].split(":", -1);
                    addresses.add(shown(address[0]) + ":" + Integer.parseInt(address[1], 16));
                }
            }
        }
        return addresses;
    }

    /** IPv4 addresses, also those that Java gives an IPv6 socket, as usual; others as they are. */
    private static String shown(String hex) {
        boolean mapped = hex.length() == 32 && hex.startsWith("0000000000000000FFFF0000");
        if (hex.length() != 8 && !mapped) {
            return hex;
        }
        String last = hex.substring(hex.length() - 8);
        List<String> bytes = new ArrayList<>();
        for (int i = 6; i >= 0; i -= 2) {
            bytes.add("" + Integer.parseInt(last.substring(i, i + 2), 16));
        }
        return String.join(".", bytes);
    }

    @Test
    void otherProgramsOfTheMachineCannotTakeItsPlaceInTheRegistry() throws Exception {
        try (JmxEndpoint endpoint = endpoint("password_file = 'users'", "users", "alice right\n")) {
            Registry registry = LocateRegistry.getRegistry("127.0.0.1", endpoint.address().port());
            assertThat(registry.list()).containsExactly("jmxrmi");
            assertThatThrownBy(() -> registry.rebind("jmxrmi", new Trap()))
                    .isInstanceOf(RemoteException.class);
            assertThat(number(endpoint, ALICE)).isEqualTo(21);
        }
    }

    private static final class Trap implements Remote, Serializable {
        @Serial private static final long serialVersionUID = 1L;
    }

    @Test
    void withTlsOnlyThoseWhoTrustItsCertificateAndKnowThePasswordGetIn() throws Exception {
        keystore("server.p12", "CN=server");
        try (JmxEndpoint endpoint =
                endpoint(
                        """
                        password_file = 'users'
                        keystore = 'server.p12'
                        keystore_password_file = 'storepass'\
                        """,
                        "users",
                        "alice right\n")) {
            assertThat(probe(endpoint, "alice", "right", trusting("server.p12"))).isEqualTo("21");
            assertThat(probe(endpoint, "alice", "wrong", trusting("server.p12")))
                    .contains("wrong name or password");
            assertThat(probe(endpoint, "alice", "right", List.of())).contains("PKIX");
            assertThatThrownBy(() -> number(endpoint, ALICE)).isInstanceOf(IOException.class);
        }
    }

    @Test
    void withClientAuthOnlyThoseWithACertificateGetIn() throws Exception {
        keystore("server.p12", "CN=server");
        keystore("client.p12", "CN=client");
        keystore("stranger.p12", "CN=stranger");
        List<String> trusting = trusting("server.p12");
        try (JmxEndpoint endpoint =
                new JmxEndpoint(
                        ANY_PORT,
                        config(
                                """
                                keystore = 'server.p12'
                                keystore_password_file = 'storepass'
                                truststore = 'client.p12'
                                truststore_password_file = 'storepass'\
                                """),
                        beans)) {
            assertThat(probe(endpoint, "", "", with(trusting, "client.p12"))).isEqualTo("21");
            assertThat(probe(endpoint, "", "", trusting)).contains("Exception");
            assertThat(probe(endpoint, "", "", with(trusting, "stranger.p12")))
                    .contains("Exception");
        }
    }

    @Test
    void whatIsNotSafeIsRefused() throws Exception {
        secret("users", "alice right\n");
        keystore("server.p12", "CN=server");
        String password = "password_file = 'users'\n";
        String tls = "keystore = 'server.p12'\nkeystore_password_file = 'storepass'\n";
        HostPort everywhere = HostPort.parse("0.0.0.0:0");
        for (String settings : List.of("", password, tls)) {
            assertThatThrownBy(() -> new JmxEndpoint(everywhere, config(settings), beans).close())
                    .isInstanceOf(JmxRefusedException.class)
                    .hasMessageContaining("others can reach it")
                    .hasMessageContaining("allow_insecure");
        }
        assertThat(config(password + tls).authenticates()).isTrue();

        publicFile("users", "alice right\n");
        assertRefused(password, "users: (jmx.password_file) others than its owner may read");
        secret("users", "alice\n");
        assertRefused(password, "users:1: (jmx.password_file) a line must be 'name password'");
        secret("users", "alice a\nalice b\n");
        assertRefused(password, "users:2: (jmx.password_file)");
        secret("users", "# nobody\n");
        assertRefused(password, "names nobody");
        Files.delete(directory.resolve("users"));
        assertRefused(password, "users: (jmx.password_file) there is no such file");
        secret("users", "alice right\n");
        secret("access", "alice everything\n");
        assertRefused(password + "access_file = 'access'", "'everything' is neither readonly");
        Files.setPosixFilePermissions(
                directory.resolve("access"), PosixFilePermissions.fromString("rw-rw-r--"));
        assertRefused(password + "access_file = 'access'", "others than its owner may write");
        secret("storepass", "not the password\n");
        assertRefused(tls, "server.p12: (jmx.keystore)");
        publicFile("storepass", "changeit\n");
        assertRefused(tls, "storepass: (jmx.keystore_password_file) others");
    }

    private void assertRefused(String settings, String message) {
        assertThatThrownBy(() -> new JmxEndpoint(ANY_PORT, config(settings), beans).close())
                .isInstanceOf(JmxRefusedException.class)
                .hasMessageContaining(message);
    }

    @Test
    void aPortInUseIsNamed() throws Exception {
        try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            HostPort taken = new HostPort("127.0.0.1", other.getLocalPort());
            assertThatThrownBy(() -> new JmxEndpoint(taken, JmxConfig.none(), beans).close())
                    .isInstanceOf(BindException.class)
                    .hasMessageContaining("the JMX address " + taken + " cannot be bound")
                    .hasMessageContaining("Address already in use");
        }
    }

    @Test
    void thePortIsFreeAfterwards() throws Exception {
        HostPort address;
        try (JmxEndpoint endpoint = new JmxEndpoint(ANY_PORT, JmxConfig.none(), beans)) {
            address = endpoint.address();
            assertThat(number(endpoint, null)).isEqualTo(21);
        }
        retaken(address).close();
        retaken(address).close();
    }

    /** The kernel frees the port when the thread that listened has come back from it. */
    private JmxEndpoint retaken(HostPort address) {
        return Awaitility.await()
                .atMost(Duration.ofSeconds(30))
                .ignoreExceptionsInstanceOf(BindException.class)
                .until(() -> new JmxEndpoint(address, JmxConfig.none(), beans), e -> true);
    }

    private JmxEndpoint endpoint(String settings, String file, String content) throws IOException {
        secret(file, content);
        return new JmxEndpoint(ANY_PORT, config(settings), beans);
    }

    private JmxConfig config(String settings) throws IOException {
        Path file = directory.resolve("jmx.toml");
        Files.writeString(file, settings);
        return Config.load(file, JmxConfig.class);
    }

    private void secret(String file, String content) throws IOException {
        write(file, content, "rw-------");
    }

    private void publicFile(String file, String content) throws IOException {
        write(file, content, "rw-r--r--");
    }

    private void write(String name, String content, String permissions) throws IOException {
        Path file = directory.resolve(name);
        Files.writeString(file, content);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
    }

    private static int number(JmxEndpoint endpoint, String @Nullable [] user) throws Exception {
        try (JMXConnector session = connect(endpoint, user)) {
            return (int) session.getMBeanServerConnection().getAttribute(name(), "Number");
        }
    }

    @SuppressWarnings("BanJNDI") // the address comes from the test
    private static JMXConnector connect(JmxEndpoint endpoint, String @Nullable [] user)
            throws IOException {
        return JMXConnectorFactory.connect(
                new JMXServiceURL(
                        "service:jmx:rmi:///jndi/rmi://" + endpoint.address() + "/jmxrmi"),
                user == null ? Map.of() : Map.of(JMXConnector.CREDENTIALS, user));
    }

    private static ObjectName name() throws Exception {
        return new ObjectName("io.cairn:type=Test");
    }

    /** A key with a certificate that it signed itself: who trusts it names the same file. */
    private void keystore(String file, String owner) throws Exception {
        secret("storepass", "changeit\n");
        Path store = directory.resolve(file);
        run(
                java("keytool"),
                "-genkeypair",
                "-keyalg",
                "EC",
                "-dname",
                owner,
                "-ext",
                "san=ip:127.0.0.1",
                "-alias",
                "it",
                "-storetype",
                "PKCS12",
                "-storepass",
                "changeit",
                "-keystore",
                store.toString());
        // Trusted is a certificate without its key.
        run(
                java("keytool"),
                "-exportcert",
                "-alias",
                "it",
                "-storepass",
                "changeit",
                "-keystore",
                store.toString(),
                "-file",
                store + ".cer");
        run(
                java("keytool"),
                "-importcert",
                "-noprompt",
                "-alias",
                "it",
                "-storetype",
                "PKCS12",
                "-storepass",
                "changeit",
                "-keystore",
                store + ".trust",
                "-file",
                store + ".cer");
        Files.setPosixFilePermissions(store, PosixFilePermissions.fromString("rw-------"));
    }

    private List<String> trusting(String keystore) {
        return List.of(
                "-Djavax.net.ssl.trustStore=" + directory.resolve(keystore + ".trust"),
                "-Djavax.net.ssl.trustStorePassword=changeit");
    }

    private List<String> with(List<String> options, String keystore) {
        List<String> all = new ArrayList<>(options);
        all.add("-Djavax.net.ssl.keyStore=" + directory.resolve(keystore));
        all.add("-Djavax.net.ssl.keyStorePassword=changeit");
        return all;
    }

    /** What {@link JmxProbe} says. */
    private static String probe(
            JmxEndpoint endpoint, String user, String password, List<String> options)
            throws Exception {
        List<String> command = new ArrayList<>(List.of(java("java"), "-Xmx64m"));
        command.addAll(options);
        command.addAll(
                List.of(
                        "-cp",
                        System.getProperty("java.class.path"),
                        JmxProbe.class.getName(),
                        endpoint.address().toString(),
                        user,
                        password));
        return run(command.toArray(String[]::new));
    }

    private static String java(String program) {
        return Path.of(System.getProperty("java.home"), "bin", program).toString();
    }

    private static String run(String... command) throws Exception {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String out =
                new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        assertThat(process.waitFor()).as(out).isZero();
        return out;
    }
}
