package io.cairn.dataserver;

import io.cairn.common.config.ConfigRecordContract;

class DataServerConfigTest extends ConfigRecordContract {
    @Override
    protected Class<? extends Record> type() {
        return DataServerConfig.class;
    }
}
