"""Static graphs and their sessions, under TensorFlow 1's names."""

import numpy as np
import pytest

from gradtrace.static import tf1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def names(graph):
    return [op.name for op in graph.get_operations()]


def test_the_notes_graph(graph):
    w, x = tf.constant(1.0), tf.constant(2.0)
    y = tf.multiply(tf.add(w, x), tf.add(w, 1))
    assert str(y) == 'Tensor("Mul:0", shape=(), dtype=float32)'
    assert names(graph) == ["Const", "Const_1", "Add", "Add_1/y", "Add_1", "Mul"]
    with tf.Session() as session:
        value = session.run(y)
    assert value == 6.0 and value.dtype == np.float32


def test_names_count_up(graph):
    for _ in range(5):
        y = tf.multiply(tf.constant(1.0), 2.0)
    assert y.name == "Mul_4:0"
    assert tf.constant(1.0, name="Mul_5").name == "Mul_5:0"
    assert tf.multiply(y, y).name == "Mul_6:0"


def test_built_once_run_many_times(graph):
    w, x = tf.placeholder(tf.float32, (), "w"), tf.placeholder(tf.float32, (), "x")
    y = (x + w) * (w + 1)
    gradients = tf.gradients(y, [x, w])
    session = tf.Session()
    for k in range(20):
        assert session.run([y, *gradients], {x: 2.0, w: k}) == [(2 + k) * (k + 1), k + 1, 2 * k + 3]
    assert (session.built, session.runs) == (1, 20)


def test_a_loop_is_one_node(graph):
    n, a = tf.placeholder(tf.int32, ()), tf.placeholder(tf.float32, ())
    count, total = tf.while_loop(
        lambda i, s: tf.less(i, n), lambda i, s: (i + 1, s * a), [tf.constant(0), 1.0]
    )
    before = names(graph)
    with tf.Session() as session:
        for k in (0, 1, 5, 10):
            assert session.run([count, total], {n: k, a: 2.0}) == [k, 2.0**k]
        assert session.built == 1
    assert names(graph) == before


def test_loops_within_loops(graph):
    def body(i, s):
        return i + 1, tf.while_loop(
            lambda j, t: j < i, lambda j, t: (j + 1, t + s), [tf.constant(0), s]
        )[1]

    _, total = tf.while_loop(lambda i, s: i < 4, body, [tf.constant(0), tf.constant(1.0)])

    def expected():
        s = 1.0
        for i in range(4):
            t = s
            for _ in range(i):
                t = t + s
            s = t
        return s

    assert tf.Session().run(total) == expected()


@pytest.mark.parametrize("use", [bool, lambda t: 1 if t else 2, float, list])
def test_a_node_has_no_value_for_python(graph, use):
    y = tf.placeholder(tf.float32, ()) < 3.0
    with pytest.raises(TypeError):
        use(y)


def test_gradients_of_gradients(graph):
    x = tf.placeholder(tf.float32, ())
    (first,) = tf.gradients(x * x * x, [x])
    (second,) = tf.gradients(first, [x])
    assert tf.Session().run([first, second], {x: 3.0}) == [27.0, 18.0]


def test_gradients_weighed_and_missing(graph):
    x, other = tf.constant(2.0), tf.constant(1.0)
    assert tf.gradients(x * x, [x, other])[1] is None
    assert tf.gradients(tf.stop_gradient(x) * 2.0, [x]) == [None]
    assert tf.Session().run(tf.gradients([x * x, x], [x], [10.0, 1.0])) == [41.0]


def test_a_frozen_graph_refuses_change(graph):
    x = tf.constant(1.0)
    graph.finalize()
    for change in (
        lambda: tf.constant(2.0),
        lambda: x + 1.0,
        lambda: tf.placeholder(tf.float32, ()),
        lambda: tf.gradients(x, [x]),
    ):
        with pytest.raises(RuntimeError, match="finalized"):
            change()
    assert tf.Session().run(x) == 1.0 and names(graph) == ["Const"]


def test_what_does_not_fit_is_refused_while_building(graph):
    with pytest.raises(TypeError, match="int32 that does not match type float32"):
        tf.add(tf.constant(1.0), tf.constant(1))
    with pytest.raises(TypeError, match="Expected int32"):
        tf.constant(1) + 1.5
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        tf.matmul(tf.constant(np.zeros((2, 3))), tf.constant(np.zeros((2, 3))))
    with tf.Graph().as_default():
        far = tf.constant(1.0)
    with pytest.raises(ValueError, match="same graph"):
        tf.constant(1.0) + far


def test_what_cannot_be_run(graph):
    x = tf.placeholder(tf.float32, (), "x")
    session = tf.Session()
    for fetch, feed, error, told in (
        (x, None, ValueError, "must feed a value for placeholder tensor 'x'"),
        (x, {x: [1.0, 2.0]}, ValueError, r"Cannot feed value of shape \(2,\)"),
        (3, None, TypeError, "invalid type int"),
        ("x:0", None, TypeError, "must be a Tensor"),
    ):
        with pytest.raises(error, match=told):
            session.run(fetch, feed)
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.run(x, {x: 1.0})


def test_fetches_of_every_kind(graph):
    x = tf.placeholder(tf.float32, (), "x")
    y = x + 1.0
    with tf.Session() as session:
        assert session.run({"a": [y, x], "b": (y,)}, {x: 2}) == {"a": [3.0, 2.0], "b": (3.0,)}
        assert session.run(y * 2.0, {y: 10.0}) == 20.0
        assert y.eval({x: 1}) == 2.0


def test_the_library_has_them_by_its_own_names():
    from gradtrace.static import Graph, Session, gradients, placeholder, while_loop

    with Graph().as_default() as own:
        x = placeholder("float32", (), "x")
        y = while_loop(lambda s: s < 20.0, lambda s: s * s, [x])
        (slope,) = gradients(x * x, [x])
    session = Session(graph=own)
    assert session.run([y, slope], {x: 3.0}) == [81.0, 6.0]
    assert session.run([y, slope], {x: 5.0}) == [25.0, 10.0] and session.built == 1


def test_gradients_and_loops(graph):
    """A gradient does not go through a loop, but it may start at its result, and stand within it."""
    x = tf.placeholder(tf.float64, ())

    def descend(i, w):
        (slope,) = tf.gradients(tf.square(w - x), [w])
        return i + 1, w - 0.25 * slope

    _, w = tf.while_loop(lambda i, w: i < 10, descend, [tf.constant(0), x * 0.0])
    y = tf.square(w) * x
    with pytest.raises(LookupError, match=r"'while' \(op type: While\)"):
        tf.gradients(y, [x])
    slope, constant = tf.gradients(y, [w, tf.stop_gradient(w)])
    assert constant is None
    value, found = tf.Session().run([w, slope], {x: 3.0})
    assert value == pytest.approx(3 * (1 - 0.5**10)) and found == 2 * value * 3
    (of_stopped,) = tf.gradients(tf.stop_gradient(x) * 2.0, [stopped := tf.stop_gradient(x)])
    assert of_stopped is None and tf.Session().run(
        tf.gradients(stopped * 2.0, [stopped]), {x: 1.0}
    ) == [2.0]


@pytest.mark.parametrize("shape", [None, [None, 2]])
def test_a_placeholder_needs_its_whole_shape(graph, shape):
    with pytest.raises(ValueError, match="placeholder 'x': give the whole shape"):
        tf.placeholder(tf.float32, shape, "x")
