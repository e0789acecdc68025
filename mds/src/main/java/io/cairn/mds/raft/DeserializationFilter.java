package io.cairn.mds.raft;

import java.io.ObjectInputFilter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limits Java deserialization in this process. Ratis sends exceptions between members as serialized
 * Java objects and reads them without a filter; whoever can reach the Raft port could otherwise
 * send any object graph. Any thread.
 */
final class DeserializationFilter {
    private static final Logger LOG = LoggerFactory.getLogger(DeserializationFilter.class);

    /** Exceptions and what they are made of, from the JDK and Ratis; JMX for administrators. */
    private static final String PATTERN =
            "maxdepth=32;maxrefs=20000;maxbytes=4194304;maxarray=100000;"
                    + "java.lang.*;java.util.*;java.util.concurrent.*;java.io.*;java.net.*;"
                    + "java.nio.channels.*;java.math.*;java.time.*;java.rmi.**;"
                    + "javax.management.**;org.apache.ratis.**;!*";

    private DeserializationFilter() {}

    /** Sets the filter unless the administrator has set one ({@code -Djdk.serialFilter}). */
    static synchronized void install() {
        if (ObjectInputFilter.Config.getSerialFilter() != null) {
            return;
        }
        try {
            ObjectInputFilter.Config.setSerialFilter(
                    ObjectInputFilter.Config.createFilter(PATTERN));
        } catch (IllegalStateException e) {
            LOG.debug("a deserialization filter was set at the same time", e);
        }
    }
}
