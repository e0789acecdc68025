/**
 * JMX over the network: {@link io.cairn.common.jmx.JmxEndpoint} makes the beans of the process
 * readable at one address, for the users of a file of passwords and with TLS. A login goes through
 * {@link io.cairn.common.jmx.JmxUsers}, each request through {@link
 * io.cairn.common.jmx.ReadOnlyBeans}.
 *
 * <p>Threads: those of RMI, one for each connection.
 */
@NullMarked
package io.cairn.common.jmx;

import org.jspecify.annotations.NullMarked;
