package io.cairn.client.meta;

import io.cairn.client.base.Channels;
import io.cairn.common.rpc.LeaderFinder;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import java.net.InetSocketAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The leader of the metadata service, as a session needs it: the member that knows the session.
 * Members are asked for the session one after the other until one is found that does.
 *
 * <pre>
 *   SEARCHING --found--> CONNECTED --lost--> SEARCHING
 *   both --stop--> STOPPED --searchAfter--> SEARCHING
 * </pre>
 *
 * <p>{@code era} counts how often a leader was found or lost; an answer from an earlier era is
 * still an answer, a failure from one means nothing.
 *
 * <p>Any thread; all methods are called under the lock of {@link SessionCalls}, or take it.
 */
final class MdsLeader {
    private static final Logger LOG = LoggerFactory.getLogger(MdsLeader.class);

    private enum State {
        SEARCHING,
        CONNECTED,
        STOPPED
    }

    /** Asks a member for the session. */
    @FunctionalInterface
    interface Question {
        /**
         * Called under the lock. The answer leads to {@link #found} or {@link #notFound} of that
         * era, or to another {@link #search}.
         */
        void ask(long era, RpcChannel member);
    }

    private final Channels channels;
    private final SessionCalls calls;
    private final MetaEvents events;
    private final Question question;
    private final LeaderFinder members;
    private State state = State.SEARCHING;
    private @Nullable RpcChannel channel;
    private long era;

    /**
     * @param configured addresses of members, at least one
     */
    MdsLeader(
            List<InetSocketAddress> configured,
            Channels channels,
            SessionCalls calls,
            MetaEvents events,
            Question question) {
        this.channels = channels;
        this.calls = calls;
        this.events = events;
        this.question = question;
        this.members = new LeaderFinder(configured);
    }

    /** Null while it is looked for, and once it is not looked for any more. Under the lock. */
    @Nullable RpcChannel channel() {
        return channel;
    }

    /** Under the lock. */
    long era() {
        return era;
    }

    /** Whether it has been looked for since that era began. Under the lock. */
    boolean isSearchedIn(long searchEra) {
        return state == State.SEARCHING && era == searchEra;
    }

    /** Rounds in which no member was it, since one was last found. Under the lock. */
    int rounds() {
        return members.rounds();
    }

    /** Why no member could be reached, for the message of whoever gives up. */
    String lastFailure() {
        synchronized (calls.lock) {
            return members.lastFailure();
        }
    }

    /** Asks the next member, unless the search of that era is over. */
    void search(long searchEra) {
        synchronized (calls.lock) {
            if (isSearchedIn(searchEra)) {
                question.ask(searchEra, channels.channel(members.current()));
            }
        }
    }

    /** Looks for it after a pause. Under the lock. */
    void searchAfter(long pauseNanos) {
        state = State.SEARCHING;
        long searchEra = era;
        calls.later(pauseNanos, () -> search(searchEra));
    }

    /**
     * The member that was asked is the leader. Under the lock.
     *
     * @return false if the search of that era was over before
     */
    boolean found(long searchEra, RpcChannel member) {
        if (!isSearchedIn(searchEra)) {
            return false;
        }
        members.found(members.current());
        LOG.debug("MDS leader is {}", members.current());
        state = State.CONNECTED;
        channel = member;
        era++;
        return true;
    }

    /**
     * The member that was asked is not the leader: the next one is asked. Under the lock.
     *
     * @return false if the search of that era was over before
     */
    boolean notFound(long searchEra, RpcStatus status) {
        if (!isSearchedIn(searchEra)) {
            return false;
        }
        searchAfter(members.failed(members.current(), status));
        return true;
    }

    /** The leader of that era failed to serve: looks for it, or for another one. */
    void lost(long failedEra, RpcStatus status) {
        synchronized (calls.lock) {
            if (state != State.CONNECTED || era != failedEra) {
                return;
            }
            events.retried();
            long pause = members.failed(members.current(), status);
            LOG.info("Lost the MDS leader ({}); looking for it", members.lastFailure());
            channel = null;
            era++;
            searchAfter(pause);
        }
    }

    /** The session ends: there is no leader, and none is looked for. Under the lock. */
    void stop() {
        state = State.STOPPED;
        channel = null;
        era++;
    }

    /** The leader did what it was asked for. Under the lock. */
    void served() {
        members.served();
    }

    /** Under the lock. */
    boolean isConnected() {
        return state == State.CONNECTED;
    }

    /** The cluster map names the members, which join the configured ones. */
    void learnMembers(List<String> addresses) {
        synchronized (calls.lock) {
            members.learn(addresses);
        }
    }
}
