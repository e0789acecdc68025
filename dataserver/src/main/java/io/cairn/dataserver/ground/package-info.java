/**
 * What every room may use: the configuration, the meters, and the exception for the administrator.
 * The ground uses no other room, so that nobody has to look upward for it; values are read from the
 * configuration file once, at the start, and passed down. Everything here is immutable.
 */
@NullMarked
package io.cairn.dataserver.ground;

import org.jspecify.annotations.NullMarked;
