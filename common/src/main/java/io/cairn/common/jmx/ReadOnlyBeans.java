package io.cairn.common.jmx;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Set;
import javax.management.MBeanServer;
import javax.management.remote.MBeanServerForwarder;
import javax.security.auth.Subject;
import org.jspecify.annotations.Nullable;

/**
 * What remote clients may do: read beans. To set attributes and to call operations needs {@link
 * JmxUsers.ReadWrite}; to make or remove beans is refused to all. Any thread.
 */
final class ReadOnlyBeans implements InvocationHandler {
    private static final Set<String> READS =
            Set.of(
                    "getAttribute",
                    "getAttributes",
                    "getMBeanInfo",
                    "getObjectInstance",
                    "getMBeanCount",
                    "getDefaultDomain",
                    "getDomains",
                    "queryMBeans",
                    "queryNames",
                    "isRegistered",
                    "isInstanceOf",
                    "addNotificationListener",
                    "removeNotificationListener",
                    // The connector itself needs these to read what clients send.
                    "getClassLoader",
                    "getClassLoaderFor",
                    "getClassLoaderRepository");

    private static final Set<String> CHANGES = Set.of("setAttribute", "setAttributes", "invoke");

    private final MBeanServer server;

    private ReadOnlyBeans(MBeanServer server) {
        this.server = server;
    }

    /** In front of the server. */
    static MBeanServerForwarder of(MBeanServer server) {
        return (MBeanServerForwarder)
                Proxy.newProxyInstance(
                        ReadOnlyBeans.class.getClassLoader(),
                        new Class<?>[] {MBeanServerForwarder.class},
                        new ReadOnlyBeans(server));
    }

    @Override
    public @Nullable Object invoke(
            Object proxy, Method method, @Nullable Object @Nullable [] arguments) throws Throwable {
        switch (method.getName()) {
            case "getMBeanServer" -> {
                return server;
            }
            case "setMBeanServer" -> {
                return null; // it was given when this was made
            }
            default -> require(method.getName());
        }
        try {
            return method.invoke(server, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }

    private static void require(String method) {
        if (READS.contains(method) || (CHANGES.contains(method) && mayChange())) {
            return;
        }
        throw new SecurityException(
                CHANGES.contains(method)
                        ? "reading only: jmx.access_file does not say readwrite for you"
                        : method + " is not possible from outside of the process");
    }

    private static boolean mayChange() {
        Subject subject = Subject.current();
        return subject != null && !subject.getPrincipals(JmxUsers.ReadWrite.class).isEmpty();
    }
}
