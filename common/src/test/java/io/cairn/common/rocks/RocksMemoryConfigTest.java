package io.cairn.common.rocks;

import io.cairn.common.config.ConfigRecordContract;

class RocksMemoryConfigTest extends ConfigRecordContract {
    @Override
    protected Class<? extends Record> type() {
        return RocksMemoryConfig.class;
    }
}
