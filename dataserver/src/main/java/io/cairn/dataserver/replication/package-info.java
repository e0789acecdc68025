@NullMarked
package io.cairn.dataserver.replication;

import org.jspecify.annotations.NullMarked;
