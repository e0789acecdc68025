package io.cairn.common.map;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapPart;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class MapPartsTest {
    private static MapUpdate update(long epoch) {
        MapUpdate.Builder update =
                MapUpdate.newBuilder()
                        .setClusterId(ByteString.copyFromUtf8("cluster"))
                        .setBaseEpoch(epoch - 1)
                        .setEpoch(epoch)
                        .setSessionFloor(3)
                        .addPools(Pool.newBuilder().setId(1).setName("p").setPgCount(100))
                        .addMds(MdsMember.newBuilder().setId(1).setAddress("h:1"));
        for (int i = 1; i <= 100; i++) {
            update.addServers(Server.newBuilder().setId(i).setAddress("h:" + i))
                    .addDisks(Disk.newBuilder().setId(i).setServer(i))
                    .addPgs(PlacementGroup.newBuilder().setPg(1 << 16 | i).addReplicas(i))
                    .addRefusedSessions(i)
                    .addForgottenSessions(1000 + i);
        }
        return update.build();
    }

    private static @Nullable MapUpdate together(MapParts parts, List<MapPart> of) {
        MapUpdate last = null;
        for (MapPart part : of) {
            assertThat(last).as("before the last part").isNull();
            last = parts.add(part);
        }
        return last;
    }

    @Test
    void whatIsCutIsPutTogetherAndNoPartIsTooLarge() {
        MapUpdate update = update(9);
        for (int max : List.of(1, 100, 1000, 1 << 20)) {
            List<MapPart> parts = MapParts.cut(update, max);
            assertThat(parts).hasSizeGreaterThan(max > 10_000 ? 0 : 1);
            assertThat(parts)
                    .allMatch(p -> p.getSerializedSize() <= Math.max(max, 50) + 60)
                    .allMatch(p -> p.getRows().getEpoch() == 9);
            assertThat(together(new MapParts(), parts)).isEqualTo(update);
        }
        MapUpdate empty = MapUpdate.newBuilder().setBaseEpoch(1).setEpoch(2).build();
        assertThat(together(new MapParts(), MapParts.cut(empty, 100))).isEqualTo(empty);
    }

    @Test
    void aPartThatDoesNotFollowIsDropped() {
        List<MapPart> one = MapParts.cut(update(9), 1000);
        List<MapPart> other = MapParts.cut(update(10), 1000);
        MapParts parts = new MapParts();
        assertThat(together(parts, one.subList(1, one.size()))).as("without the first").isNull();
        parts.add(one.getFirst());
        assertThat(together(parts, one.subList(2, one.size()))).as("without the second").isNull();
        parts.add(one.getFirst());
        assertThat(together(parts, other.subList(1, other.size()))).as("of another one").isNull();
        parts.add(one.getFirst());
        assertThat(Objects.requireNonNull(together(parts, other)).getEpoch())
                .as("another one begins in between")
                .isEqualTo(10);
        assertThat(together(parts, one)).isEqualTo(update(9));
    }
}
