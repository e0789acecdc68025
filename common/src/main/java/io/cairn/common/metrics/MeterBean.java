package io.cairn.common.metrics;

import java.util.concurrent.ConcurrentSkipListMap;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.ImmutableDescriptor;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanException;
import javax.management.MBeanInfo;
import org.jspecify.annotations.Nullable;

/**
 * Meters as attributes of one bean, all read-only. Attributes come and go while the bean is
 * registered, since a part makes its meters one after the other. Any thread.
 */
final class MeterBean implements DynamicMBean {
    private final String description;
    private final ConcurrentSkipListMap<String, BeanAttribute> attributes =
            new ConcurrentSkipListMap<>();

    MeterBean(String description) {
        this.description = description;
    }

    /** Takes the place of one of the same name. */
    void add(BeanAttribute attribute) {
        attributes.put(attribute.name(), attribute);
    }

    /** Unless another one has taken its place. */
    void remove(BeanAttribute attribute) {
        attributes.remove(attribute.name(), attribute);
    }

    boolean isEmpty() {
        return attributes.isEmpty();
    }

    @Override
    public Object getAttribute(String name) throws AttributeNotFoundException, MBeanException {
        BeanAttribute attribute = attributes.get(name);
        if (attribute == null) {
            throw new AttributeNotFoundException("no attribute " + name);
        }
        try {
            return attribute.value().get();
        } catch (RuntimeException e) {
            throw new MBeanException(e, name + " cannot be read now");
        }
    }

    /** Leaves out what is not there or cannot be read now, as JMX wants it. */
    @Override
    public AttributeList getAttributes(String[] names) {
        AttributeList list = new AttributeList();
        for (String name : names) {
            try {
                list.add(new Attribute(name, getAttribute(name)));
            } catch (AttributeNotFoundException | MBeanException e) {
                continue;
            }
        }
        return list;
    }

    @Override
    public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
        throw new AttributeNotFoundException(attribute.getName() + " is read-only");
    }

    @Override
    public AttributeList setAttributes(AttributeList list) {
        return new AttributeList();
    }

    @Override
    public @Nullable Object invoke(String action, Object[] parameters, String[] signature) {
        throw new UnsupportedOperationException("this bean has no operations");
    }

    @Override
    public MBeanInfo getMBeanInfo() {
        MBeanAttributeInfo[] infos =
                attributes.values().stream()
                        .map(a ->
                                new MBeanAttributeInfo(
                                        a.name(), a.type(), a.description(), true, false, false))
                        .toArray(MBeanAttributeInfo[]::new);
        return new MBeanInfo(
                MeterBean.class.getName(),
                description,
                infos,
                null,
                null,
                null,
                new ImmutableDescriptor("immutableInfo=false"));
    }
}
