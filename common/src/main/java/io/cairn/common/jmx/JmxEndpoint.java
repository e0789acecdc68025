package io.cairn.common.jmx;

import io.cairn.common.config.HostPort;
import io.cairn.common.errno.BindFailures;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.rmi.NoSuchObjectException;
import java.rmi.registry.LocateRegistry;
import java.rmi.registry.Registry;
import java.rmi.server.RMIClientSocketFactory;
import java.rmi.server.UnicastRemoteObject;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import javax.management.MBeanServer;
import javax.management.remote.JMXConnectorServer;
import javax.management.remote.JMXServiceURL;
import javax.management.remote.rmi.RMIConnectorServer;
import javax.management.remote.rmi.RMIJRMPServerImpl;
import javax.net.ssl.SSLContext;
import javax.rmi.ssl.SslRMIClientSocketFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The beans of the process, for clients of JMX such as jconsole. The RMI registry and the connector
 * listen on the one port of the one address given, and on nothing else. A process has one at most,
 * since the name under which clients come back is a setting of the process. Thread-safe.
 */
public final class JmxEndpoint implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(JmxEndpoint.class);

    /** What the connector is called in the registry; clients expect this name. */
    private static final String NAME = "jmxrmi";

    /** The host name that RMI gives to clients; read when RMI is first used. */
    private static final String HOST_NAME = "java.rmi.server.hostname";

    /**
     * What clients who have logged in may send: names, values and filters, but no object whose
     * reading runs code of a library.
     */
    private static final String FROM_USERS =
            "maxdepth=32;maxarray=100000;java.lang.*;java.math.*;java.rmi.**;java.util.*;"
                    + "javax.management.**;!*";

    private final HostPort address;
    private final JmxSockets sockets;
    private final Registry registry;
    private final JMXConnectorServer connector;

    static {
        // Programs of this machine may bind names in a registry, and so could put themselves in our
        // place and be told passwords. A stub is an object; names, which clients send, are not.
        System.getProperties().putIfAbsent("sun.rmi.registry.registryFilter", "!*");
    }

    /**
     * Starts listening.
     *
     * @param address port 0 lets the system choose
     * @param beans what clients see
     * @throws JmxRefusedException when the settings are not safe or a file cannot be used
     * @throws IOException naming the address when it cannot be bound
     */
    public JmxEndpoint(HostPort address, JmxConfig config, MBeanServer beans) throws IOException {
        InetAddress host = resolved(address);
        refuseUnsafe(address, host, config);
        Map<String, Object> environment = environment(config);
        SSLContext tls = JmxTls.context(config);
        @Nullable RMIClientSocketFactory clients =
                tls == null ? null : new SslRMIClientSocketFactory();
        if (!host.isAnyLocalAddress()) {
            System.getProperties().putIfAbsent(HOST_NAME, address.host());
        }
        sockets = new JmxSockets(host, tls, config.clientAuth());
        registry = registry(address, clients, sockets);
        try {
            this.address = new HostPort(address.host(), sockets.port());
            RMIJRMPServerImpl server =
                    new RMIJRMPServerImpl(this.address.port(), clients, sockets, environment);
            connector =
                    new RMIConnectorServer(
                            new JMXServiceURL("rmi", address.host(), this.address.port()),
                            environment,
                            server,
                            beans);
            connector.setMBeanServerForwarder(ReadOnlyBeans.of(beans));
            connector.start();
            registry.rebind(NAME, server.toStub());
        } catch (IOException | RuntimeException e) {
            stopListening();
            throw e;
        }
        LOG.info("JMX: service:jmx:rmi:///jndi/rmi://{}/{}", this.address, NAME);
    }

    /** Where it really listens. */
    public HostPort address() {
        return address;
    }

    @Override
    public void close() throws IOException {
        try {
            connector.stop();
        } finally {
            stopListening();
        }
    }

    private void stopListening() throws IOException {
        try {
            UnicastRemoteObject.unexportObject(registry, true);
        } catch (NoSuchObjectException e) {
            LOG.debug("the registry of JMX was closed before", e);
        } finally {
            sockets.close();
        }
    }

    private static InetAddress resolved(HostPort address) throws UnknownHostException {
        InetSocketAddress resolved = address.toSocketAddress();
        if (resolved.isUnresolved()) {
            throw new UnknownHostException(address.host() + " (jmx_address)");
        }
        return resolved.getAddress();
    }

    private static void refuseUnsafe(HostPort address, InetAddress host, JmxConfig config)
            throws JmxRefusedException {
        if (!host.isLoopbackAddress()
                && !config.allowInsecure()
                && !(config.tls() && config.authenticates())) {
            throw new JmxRefusedException(
                    "jmx_address "
                            + address
                            + ": others can reach it, so it needs jmx.keystore (TLS), and"
                            + " jmx.password_file or jmx.truststore; or take an address such as"
                            + " 127.0.0.1, or say jmx.allow_insecure = true");
        }
    }

    private static Map<String, Object> environment(JmxConfig config) throws IOException {
        Map<String, Object> environment = new HashMap<>();
        environment.put(RMIConnectorServer.CREDENTIALS_FILTER_PATTERN, "java.lang.String;!*");
        environment.put(RMIConnectorServer.SERIAL_FILTER_PATTERN, FROM_USERS);
        Optional<Path> passwordFile = config.passwordFile();
        if (passwordFile.isPresent()) {
            JmxUsers users = new JmxUsers(passwordFile.get(), config.accessFile());
            users.check();
            environment.put(JMXConnectorServer.AUTHENTICATOR, users);
        }
        return environment;
    }

    private static Registry registry(
            HostPort address, @Nullable RMIClientSocketFactory clients, JmxSockets sockets)
            throws IOException {
        try {
            return LocateRegistry.createRegistry(address.port(), clients, sockets);
        } catch (IOException e) {
            if (e.getCause() instanceof BindException bind) {
                throw BindFailures.named("the JMX address", address, bind);
            }
            throw e;
        }
    }
}
