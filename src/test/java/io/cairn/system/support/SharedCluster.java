package io.cairn.system.support;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives a test class's constructor the one embedded cluster that all classes of a run share, which
 * is made for the first of them and removed after the last. For classes that leave it as they found
 * it: mounted, with its default configuration, and with their files below a directory of their own
 * ({@link Cluster#work}).
 */
public final class SharedCluster implements ParameterResolver {
    private static final Namespace NAMESPACE = Namespace.create(SharedCluster.class);

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == Cluster.class;
    }

    @Override
    public Cluster resolveParameter(ParameterContext parameter, ExtensionContext context) {
        Cluster cluster =
                context.getRoot()
                        .getStore(NAMESPACE)
                        .getOrComputeIfAbsent(
                                Cluster.class, _ -> Cluster.temporary(), Cluster.class);
        if (cluster.processes().isEmpty()) {
            cluster.up();
        }
        return cluster;
    }
}
