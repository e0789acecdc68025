/**
 * Questions of an administrator to the servers of a running cluster. A command, or what starts a
 * cluster, makes one {@link io.cairn.cli.admin.AdminClient}, asks it, and closes it; an answer that
 * does not come is the exception that ends the command. One thread asks, the client's own event
 * loop waits.
 */
@NullMarked
package io.cairn.cli.admin;

import org.jspecify.annotations.NullMarked;
