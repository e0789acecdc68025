package io.cairn.dataserver.ground;

import io.cairn.common.config.ConfigRecordContract;

class DataServerConfigTest extends ConfigRecordContract {
    @Override
    protected Class<? extends Record> type() {
        return DataServerConfig.class;
    }
}
