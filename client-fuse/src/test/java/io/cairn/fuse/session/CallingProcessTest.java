package io.cairn.fuse.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.fuse.posix.Posix;
import org.junit.jupiter.api.Test;

class CallingProcessTest {
    private static String status(int signal, String field) {
        String mask = String.format("%016x", 1L << (signal - 1));
        String status = "Name:\tx\nSigQ:\t0/1\n";
        for (String key : new String[] {"SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"}) {
            boolean set = key.equals("ShdPnd") || key.equals(field);
            status += key + ":\t" + (set ? mask : "0000000000000000") + "\n";
        }
        return status;
    }

    @Test
    void signalsWithoutHandlerEndTheProcess() {
        assertThat(CallingProcess.fatalPending(status(2, ""))).isTrue();
        assertThat(CallingProcess.fatalPending(status(9, ""))).isTrue();
        assertThat(CallingProcess.fatalPending(status(15, "SigPnd"))).isTrue();
    }

    @Test
    void handledIgnoredBlockedAndHarmlessSignalsDoNot() {
        assertThat(CallingProcess.fatalPending(status(2, "SigCgt"))).isFalse();
        assertThat(CallingProcess.fatalPending(status(2, "SigIgn"))).isFalse();
        assertThat(CallingProcess.fatalPending(status(2, "SigBlk"))).isFalse();
        assertThat(CallingProcess.fatalPending(status(17, ""))).isFalse();
        assertThat(CallingProcess.fatalPending(status(28, ""))).isFalse();
    }

    @Test
    void exitingIsReadBehindAnyName() {
        String stat = "7 (a) b) (c) D 1 7 7 0 -1 4194308 0";
        assertThat(CallingProcess.exiting(stat)).isTrue();
        assertThat(CallingProcess.exiting(stat.replace("4194308", "4194304"))).isFalse();
    }

    @Test
    void theCommandOfFcntlIsItsSecondArgument() {
        String call = "72 0x3 0x26 0x7ffc0 0x0 0x0 0x0 0x7ffb8 0x7f0e\n";
        assertThat(CallingProcess.secondArgument(call)).isEqualTo(38);
        assertThat(CallingProcess.secondArgument("running\n")).isEqualTo(-1);
        assertThat(CallingProcess.secondArgument("-1 0x7ffb8 0x7f0e\n")).isEqualTo(-1);
        assertThat(CallingProcess.locksForItsProcess(Integer.MAX_VALUE)).isFalse();
        assertThat(CallingProcess.locksForItsProcess(Posix.call("gettid"))).isFalse();
    }

    @Test
    void thisProcessLivesAndOneThatIsGoneDoesNot() {
        assertThat(CallingProcess.dying((int) ProcessHandle.current().pid())).isFalse();
        assertThat(CallingProcess.dying(0)).isFalse();
        assertThat(CallingProcess.dying(Integer.MAX_VALUE)).isTrue();
        int own = (int) ProcessHandle.current().pid();
        assertThat(CallingProcess.of(own)).isEqualTo(own);
        assertThat(CallingProcess.of(Posix.call("gettid"))).isEqualTo(own);
        assertThat(CallingProcess.of(Integer.MAX_VALUE)).isZero();
        assertThat(CallingProcess.leaving(own)).isFalse();
        assertThat(CallingProcess.leaving(0)).isFalse();
    }
}
