package io.cairn.common.metrics;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.management.InstanceAlreadyExistsException;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The beans of all parts of the process. Several owners may have attributes in one bean, as those
 * who open the same database one after the other; it is registered while it has any. Any thread.
 */
final class Beans {
    private static final Logger LOG = LoggerFactory.getLogger(Beans.class);

    private final MBeanServer server;
    private final Map<ObjectName, MeterBean> beans = new HashMap<>();

    Beans(MBeanServer server) {
        this.server = server;
    }

    /**
     * Shows attributes in the bean of that name, which is made if it is not there.
     *
     * @param description of the bean, for the first one who names it
     * @return takes them away again
     */
    synchronized Runnable show(
            ObjectName name, String description, List<BeanAttribute> attributes) {
        MeterBean bean = beans.get(name);
        boolean isNew = bean == null;
        if (bean == null) {
            bean = new MeterBean(description);
            beans.put(name, bean);
        }
        attributes.forEach(bean::add);
        if (isNew) {
            register(name, bean);
        }
        return () -> hide(name, attributes);
    }

    private synchronized void hide(ObjectName name, List<BeanAttribute> attributes) {
        MeterBean bean = beans.get(name);
        if (bean != null) {
            attributes.forEach(bean::remove);
            if (bean.isEmpty()) {
                beans.remove(name);
                unregister(name);
            }
        }
    }

    /** A bean that is not to be had is not worth a server that does not start. */
    private void register(ObjectName name, MeterBean bean) {
        try {
            server.registerMBean(bean, name);
        } catch (InstanceAlreadyExistsException e) {
            beans.remove(name);
            LOG.warn("{} is another's in this process: its meters are not shown in JMX", name);
        } catch (JMException e) {
            beans.remove(name);
            LOG.warn("{} is not shown in JMX", name, e);
        }
    }

    private void unregister(ObjectName name) {
        try {
            server.unregisterMBean(name);
        } catch (InstanceNotFoundException e) {
            LOG.debug("{} was unregistered by somebody else", name);
        } catch (JMException e) {
            LOG.warn("{} stays in JMX", name, e);
        }
    }

    /** Unregisters what is still there. */
    synchronized void close() {
        beans.keySet().forEach(this::unregister);
        beans.clear();
    }
}
