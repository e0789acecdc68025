package io.cairn.common.jmx;

import java.util.HashMap;
import java.util.Map;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import javax.rmi.ssl.SslRMIClientSocketFactory;

/**
 * A client of its own process, for TLS: what a JVM trusts is a setting of the process. Arguments:
 * address, name, password. Prints one attribute, or the class and message of what went wrong.
 */
final class JmxProbe {
    private JmxProbe() {}

    @SuppressWarnings("BanJNDI") // the address comes from the test
    public static void main(String[] arguments) {
        Map<String, Object> environment = new HashMap<>();
        environment.put(JMXConnector.CREDENTIALS, new String[] {arguments[1], arguments[2]});
        environment.put("com.sun.jndi.rmi.factory.socket", new SslRMIClientSocketFactory());
        try (JMXConnector connector =
                JMXConnectorFactory.connect(
                        new JMXServiceURL(
                                "service:jmx:rmi:///jndi/rmi://" + arguments[0] + "/jmxrmi"),
                        environment)) {
            System.out.println(
                    connector
                            .getMBeanServerConnection()
                            .getAttribute(new ObjectName("io.cairn:type=Test"), "Number"));
        } catch (Exception e) {
            System.out.println(e);
        }
    }
}
