package io.cairn.common.rpc;

import io.cairn.common.metrics.MeterSpec;

/**
 * Every meter of the connections of a part. The tag {@code side} tells which end this part is:
 * {@code server} of connections it accepted, {@code client} of those it made; {@code peer} is the
 * other end's role.
 */
public enum RpcMeter implements MeterSpec {
    REQUEST(
            Kind.TIMER,
            "",
            "Requests answered; server: from arrival to answer, client: from call to answer",
            "side",
            "peer"),
    IN_FLIGHT(Kind.GAUGE, "", "Requests received or sent and not answered yet", "side", "peer"),
    ONE_WAY(Kind.COUNTER, "", "Messages received or sent that have no answer", "side", "peer"),
    CONNECTIONS(Kind.GAUGE, "", "Connections whose handshake is done", "side", "peer"),
    RECEIVED(Kind.COUNTER, "bytes", "Bytes received after the handshake", "side", "peer"),
    SENT(Kind.COUNTER, "bytes", "Bytes handed to the network after the handshake", "side", "peer"),
    PINGS(
            Kind.COUNTER,
            "",
            "Pings received or sent; one is sent when nothing is heard though a request waits",
            "side",
            "peer"),
    REPLACED(
            Kind.COUNTER,
            "",
            "Connections that were silent and replaced by a new one; client side only",
            "side",
            "peer");

    private final Definition definition;

    RpcMeter(Kind kind, String unit, String description, String... tagNames) {
        definition = Definition.of(kind, unit, description, tagNames);
    }

    @Override
    public Definition definition() {
        return definition;
    }

    @Override
    public String prefix() {
        return "cairn.rpc";
    }
}
