package io.cairn.common.map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.seed.TestSeed;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class IdTableTest {
    @Test
    void isWhatAMapOfTheSameRowsIsAndChangesNoTableBefore() {
        Random random = TestSeed.random("IdTableTest");
        IdTable<String> table = IdTable.empty();
        TreeMap<Integer, String> model = new TreeMap<>();
        for (int round = 0; round < 300; round++) {
            IdTable<String> before = table;
            TreeMap<Integer, String> modelBefore = new TreeMap<>(model);
            IdTable.Edit<String> edit = table.edit();
            for (int i = random.nextInt(5); i >= 0; i--) {
                int id = random.nextInt(2000);
                if (random.nextInt(3) == 0) {
                    edit.put(id, null);
                    model.remove(id);
                } else {
                    edit.put(id, "row " + round + "." + i);
                    model.put(id, "row " + round + "." + i);
                }
            }
            table = edit.done();
            assertThat(table.values()).containsExactlyElementsOf(model.values());
            assertThat(before.values()).containsExactlyElementsOf(modelBefore.values());
            int asked = random.nextInt(2500);
            assertThat(table.get(asked)).isEqualTo(model.get(asked));
        }
    }

    @Test
    void idsHaveBounds() {
        IdTable.Edit<String> edit = IdTable.<String>empty().edit();
        assertThatThrownBy(() -> edit.put(-1, "a")).hasMessageContaining("id 4294967295");
        assertThatThrownBy(() -> edit.put(IdTable.MAX_ID + 1, "a"))
                .isInstanceOf(IllegalArgumentException.class);
        edit.put(IdTable.MAX_ID, "last");
        edit.put(0, "first");
        IdTable<String> table = edit.done();
        assertThat(table.values()).containsExactly("first", "last");
        assertThat(table.get(IdTable.MAX_ID)).isEqualTo("last");
        assertThat(table.get(-1)).isNull();
        assertThat(table.get(Integer.MAX_VALUE)).isNull();
    }
}
