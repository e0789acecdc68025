package io.cairn.sim;

import static io.cairn.sim.Simulation.MILLI;

import java.util.HashMap;
import java.util.Map;

/** Messages between machines: lost, late, twice, out of order, and cut off in one direction. */
final class SimNetwork {
    private final Simulation sim;
    private final double lossRate;
    private final double repeatRate;
    private final long maxDelay;
    private final Map<String, Long> cutUntil = new HashMap<>();

    SimNetwork(Simulation sim) {
        this.sim = sim;
        lossRate = sim.random.nextInt(3) * 0.02;
        repeatRate = sim.random.nextInt(3) * 0.02;
        maxDelay = MILLI * (1 + sim.random.nextInt(20));
    }

    /** Nothing gets from the one to the other for so long. */
    void cut(SimMachine from, SimMachine to, long nanos) {
        cutUntil.put(from.name + ">" + to.name, sim.now() + nanos);
    }

    boolean isCut(SimMachine from, SimMachine to) {
        return sim.chaos() && cutUntil.getOrDefault(from.name + ">" + to.name, 0L) > sim.now();
    }

    /** The action happens in the process that runs when the message arrives, if it does. */
    void send(SimMachine from, SimMachine to, Runnable action) {
        if (isCut(from, to) || sim.chance(lossRate)) {
            return;
        }
        sim.after(sim.upTo(maxDelay), () -> to.arrive(action));
        if (sim.chance(repeatRate)) {
            sim.after(sim.upTo(maxDelay * 4), () -> to.arrive(action));
        }
    }
}
