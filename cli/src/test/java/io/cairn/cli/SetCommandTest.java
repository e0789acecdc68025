package io.cairn.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Setting;
import io.cairn.common.proto.SettingsReply;
import io.cairn.common.proto.SettingsRequest;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code cairn set}, against a leader that is scripted. */
final class SetCommandTest {
    private final List<SettingsRequest> asked = new ArrayList<>();
    private final ScriptedServer server = new ScriptedServer(this::answer);
    private RpcStatus refusal = RpcStatus.OK;
    private boolean set;

    SetCommandTest() throws IOException {}

    @AfterEach
    void close() {
        server.close();
    }

    private void answer(RpcRequest request) {
        assertThat(request.method()).isEqualTo(Method.SETTINGS.getNumber());
        synchronized (asked) {
            asked.add(Heads.parse(SettingsRequest.parser(), request.head()));
        }
        if (!refusal.ok()) {
            request.fail(refusal);
            return;
        }
        request.reply(
                SettingsReply.newBuilder()
                        .addSettings(
                                Setting.newBuilder()
                                        .setName("reaper.rate")
                                        .setValue("30")
                                        .setSet(set)
                                        .setAllowed("a whole number")
                                        .setMeaning("Files per second."))
                        .build());
    }

    private int run(String... words) {
        List<String> all = new ArrayList<>(List.of("set", "--mds", server.address()));
        all.addAll(List.of(words));
        return server.run(all.toArray(String[]::new));
    }

    @Test
    void withoutAValueItShowsWhatCountsAndWhereItIsFrom() {
        assertThat(run()).isZero();
        assertThat(server.out.toString().lines())
                .containsExactly(
                        "SETTING          VALUE      FROM             ALLOWED",
                        "reaper.rate      30         configuration    a whole number",
                        "    Files per second.");
        set = true;
        server.out.getBuffer().setLength(0);
        assertThat(run("--json")).isZero();
        JsonNode json = JsonMapper.shared().readTree(server.out.toString());
        assertThat(json.at("/0/name").stringValue()).isEqualTo("reaper.rate");
        assertThat(json.at("/0/value").stringValue()).isEqualTo("30");
        assertThat(json.at("/0/from").stringValue()).isEqualTo("cairn set");
        assertThat(asked).hasSize(2).allMatch(request -> request.getName().isEmpty());
    }

    @Test
    void aValueIsSentAndWhatCountsFromNowOnIsShown() {
        set = true;
        assertThat(run("reaper.rate", "30")).isZero();
        assertThat(asked)
                .containsExactly(
                        SettingsRequest.newBuilder().setName("reaper.rate").setValue("30").build());
        assertThat(server.out.toString()).contains("reaper.rate      30         cairn set ");
    }

    @Test
    void refusalsHaveTheirExitCodes() {
        refusal = RpcStatus.fail(Errno.EINVAL, "reaper.rate is a whole number");
        assertThat(run("reaper.rate", "fast")).isEqualTo(2);
        refusal = RpcStatus.fail(Errno.EAGAIN, "the group is at feature level 1");
        assertThat(run("reaper.rate", "1")).isEqualTo(1);
        refusal = RpcStatus.fail(Errno.EOPNOTSUPP, "a metadata server has no method 99");
        assertThat(run()).isEqualTo(1);
        assertThat(run("reaper.rate")).isEqualTo(2);
        assertThat(run("", "1")).isEqualTo(2);
        assertThat(run("a", "1", "2")).isEqualTo(2);
        assertThat(server.run("set", "--mds", "127.0.0.1:1")).isEqualTo(4);
        List<String> said = server.err.toString().lines().toList();
        assertThat(said.get(0)).contains("'reaper.rate fast': reaper.rate is a whole number");
        assertThat(said.get(1)).isEqualTo("cairn: the group is at feature level 1");
        assertThat(said.get(2)).contains("a release without 'cairn set': upgrade it first");
        assertThat(said.get(3)).contains("reaper.rate: the value is missing");
        assertThat(asked).hasSize(3);
        assertThat(server.out.toString()).isEmpty();
    }
}
