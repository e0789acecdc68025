@NullMarked
package io.cairn.dataserver.service;

import org.jspecify.annotations.NullMarked;
