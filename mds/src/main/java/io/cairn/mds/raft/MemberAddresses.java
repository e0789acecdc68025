package io.cairn.mds.raft;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The addresses that connections to the Raft port may come from: those of the members' Raft hosts.
 * A host may get another address at any time (a container that was made anew). So a connection from
 * an unknown address is refused, but the names are looked up again, at most once a second; a member
 * connects again. Any thread; {@link #permits} does not block.
 */
final class MemberAddresses {
    private static final Logger LOG = LoggerFactory.getLogger(MemberAddresses.class);
    private static final long LOOK_UP_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Names to addresses. */
    @FunctionalInterface
    interface Resolver {
        InetAddress[] resolve(String host) throws UnknownHostException;
    }

    private volatile Set<String> hosts;
    private final Resolver resolver;
    private final AtomicBoolean lookingUp = new AtomicBoolean();
    private volatile Set<InetAddress> known;
    private volatile long lookedUpNanos;

    /** Looks the names up; one that has no address yet is left for later. */
    MemberAddresses(List<String> hosts, Resolver resolver) {
        this.hosts = Set.copyOf(hosts);
        this.resolver = resolver;
        this.known = lookUp();
        this.lookedUpNanos = System.nanoTime();
    }

    /** Whether a connection from there may be a member's. */
    boolean permits(@Nullable SocketAddress from) {
        if (!(from instanceof InetSocketAddress address)) {
            return false;
        }
        if (known.contains(address.getAddress())) {
            return true;
        }
        if (System.nanoTime() - lookedUpNanos > LOOK_UP_NANOS
                && lookingUp.compareAndSet(false, true)) {
            Thread.ofVirtual().name("mds-raft-addresses").start(this::lookUpAgain);
        }
        return false;
    }

    /** The members have these hosts from now on. */
    void hosts(Collection<String> present) {
        Set<String> wanted = Set.copyOf(present);
        if (!wanted.equals(hosts)) {
            hosts = wanted;
            if (lookingUp.compareAndSet(false, true)) {
                Thread.ofVirtual().name("mds-raft-addresses").start(this::lookUpAgain);
            }
        }
    }

    private void lookUpAgain() {
        try {
            known = lookUp();
        } finally {
            lookedUpNanos = System.nanoTime();
            lookingUp.set(false);
        }
    }

    private Set<InetAddress> lookUp() {
        Set<InetAddress> found = new HashSet<>();
        for (String host : hosts) {
            try {
                found.addAll(List.of(resolver.resolve(host)));
            } catch (UnknownHostException e) {
                LOG.warn("the member's Raft host {} has no address at the moment", host);
            }
        }
        return Set.copyOf(found);
    }
}
