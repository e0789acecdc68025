package io.cairn.common.config;

class ExampleConfigTest extends ConfigRecordContract {
    @Override
    protected Class<? extends Record> type() {
        return ExampleConfig.class;
    }
}
