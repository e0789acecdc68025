/** Random operations on any client, compared with a model byte for byte. */
@NullMarked
package io.cairn.client.model;

import org.jspecify.annotations.NullMarked;
