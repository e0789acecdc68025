package io.cairn.sim;

/**
 * A machine with one process: it crashes and starts again, is paused, and has a clock that drifts.
 */
abstract class SimMachine {
    /** What leases allow for: 2 % between any two clocks, so 1 % each. */
    private static final double MAX_DRIFT = 0.0099;

    final Simulation sim;
    final String name;
    private final double rate;
    private final long offset;
    private int life;
    private boolean up;
    private long pausedUntil;

    SimMachine(Simulation sim, String name) {
        this.sim = sim;
        this.name = name;
        rate = 1 + MAX_DRIFT * (2 * sim.random.nextDouble() - 1);
        offset = sim.random.nextLong(1L << 40);
    }

    /** CLOCK_BOOTTIME of this machine. */
    final long clock() {
        return offset + (long) (sim.now() * rate);
    }

    final boolean isUp() {
        return up;
    }

    /** Neither crashed nor paused. */
    final boolean runs() {
        return up && pausedUntil <= sim.now();
    }

    final void boot() {
        if (!up) {
            life++;
            up = true;
            pausedUntil = 0;
            started();
        }
    }

    /** kill -9, or the end of its power. */
    final void crash() {
        if (up) {
            up = false;
            crashed();
        }
    }

    /** SIGSTOP: what comes for it meanwhile comes when it goes on. */
    final void pause(long nanos) {
        pausedUntil = Math.max(pausedUntil, sim.now() + nanos);
    }

    /** The process begins, with nothing but what its disks have. */
    abstract void started();

    abstract void crashed();

    /** A timer of this process: a crash ends it. */
    final void after(long nanos, Runnable action) {
        int mine = life;
        sim.after(nanos, () -> inLife(mine, action));
    }

    /** Something from outside reaches the process that runs now. */
    final void arrive(Runnable action) {
        inLife(life, action);
    }

    /** The process that runs now. */
    final Process process() {
        return new Process(life);
    }

    /** One life of the machine's process. */
    final class Process {
        private final int number;

        private Process(int number) {
            this.number = number;
        }

        /** The action, for this process only: the next one knows nothing of it. */
        Runnable only(Runnable action) {
            return () -> inLife(number, action);
        }
    }

    private void inLife(int wanted, Runnable action) {
        if (!up || life != wanted) {
            return;
        }
        if (pausedUntil > sim.now()) {
            sim.after(pausedUntil - sim.now(), () -> inLife(wanted, action));
        } else {
            action.run();
        }
    }
}
