"""Variables, random numbers and optimisers of static graphs; training as TensorFlow 1's tutorials have it."""

import numpy as np
import pytest

from gradtrace.static import tf1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_a_variable_is_kept_from_run_to_run(graph):
    w = tf.Variable([1.0, 2.0], name="w")
    assert repr(w) == "<tf.Variable 'w:0' shape=(2,) dtype=float32_ref>"
    double = w.assign(w * 2.0)
    with tf.Session() as session:
        with pytest.raises(RuntimeError, match="uninitialized value w; run tf"):
            session.run(w)
        assert session.run(tf.global_variables_initializer()) is None
        assert session.run(double).tolist() == [2.0, 4.0] and session.run(w).tolist() == [2.0, 4.0]
        assert session.run(w.assign_add([1.0, 1.0])).tolist() == [3.0, 5.0]
        assert session.run(tf.assign_sub(w, [0.0, 5.0])).tolist() == [3.0, 0.0]
        before, after = session.run([w, double])
        assert before.tolist() == [3.0, 0.0] and after.tolist() == [6.0, 0.0]
        w.load([7.0, 8.0])
        assert (w.eval() + 0).tolist() == [7.0, 8.0] and session.run(w * 1.0, {w: [0.5, 0.5]}).tolist() == [0.5, 0.5]
    with pytest.raises(RuntimeError, match="uninitialized"):
        tf.Session().run(w)


def test_what_does_not_fit_a_variable(graph):
    w = tf.Variable([1.0, 2.0])
    for change, error in (
        (lambda: w.assign([1.0]), ValueError),
        (lambda: w.assign(tf.constant([1, 2])), TypeError),
        (lambda: tf.Variable(), ValueError),
        (lambda: tf.get_variable("Variable", [2]), ValueError),
        (lambda: tf.Variable(tf.placeholder(tf.float32, [None])), ValueError),
    ):
        with pytest.raises(error):
            change()
    with pytest.raises(ValueError, match="outside while_loop"):
        tf.while_loop(lambda s: s < 3.0, lambda s: s + tf.random_normal(()), [1.0])
    with pytest.raises(ValueError, match="outside while_loop"):
        tf.cond(tf.constant(True), lambda: w.assign([0.0, 0.0]), lambda: w * 1.0)


def test_random_numbers_are_new_in_each_run_and_seeded():
    shape = (1000,)
    nodes = [tf.random_normal(shape, 3.0, 2.0), tf.random_uniform(shape, 1.0, 5.0), tf.truncated_normal(shape)]
    tf.set_random_seed(4)
    seeded = tf.random_normal(shape)
    with tf.Session() as session:
        normal, uniform, cut = session.run(nodes)
        assert abs(normal.mean() - 3) < 0.3 and 1 <= uniform.min() < uniform.max() < 5 and abs(cut).max() <= 2
        assert (session.run(nodes[0]) != normal).any()
        one, two = session.run(seeded), session.run(seeded)
        assert (one != two).any() and session.built == 3
    again = tf.Session()
    assert (again.run(seeded) == one).all() and (again.run(seeded) == two).all()


def test_linear_regression_by_gradient_descent():
    """The first tutorial of TensorFlow 1."""
    x_data = np.random.default_rng(0).random(100, dtype=np.float32)
    y_data = x_data * np.float32(0.1) + np.float32(0.3)
    w = tf.Variable(tf.random_uniform([1], -1.0, 1.0))
    b = tf.Variable(tf.zeros([1]))
    loss = tf.reduce_mean(tf.square(w * x_data + b - y_data))
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    for _ in range(201):
        assert session.run(step) is None
    assert session.run(w) == pytest.approx([0.1], abs=1e-3) and session.run(b) == pytest.approx([0.3], abs=1e-3)


def optimised(optimizer, steps=5):
    """A variable's path down a slope that depends on it, by an optimiser."""
    w = tf.Variable([1.0, -2.0], dtype=tf.float64)
    count = tf.Variable(0, trainable=False)
    step = optimizer.minimize(tf.reduce_sum(w * w * [1.5, 0.5]), global_step=count)
    path = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(step)
            path.append(session.run(w))
        assert session.run(count) == steps
    return np.array(path)


def by_hand(rule, steps=5):
    w, state, path = np.array([1.0, -2.0]), {}, []
    for t in range(1, steps + 1):
        w = w - rule(w * [3.0, 1.0], t, state)
        path.append(w)
    return np.array(path)


def momentum(nesterov):
    def rule(g, t, state):
        state["a"] = 0.9 * state.get("a", 0) + g
        return 0.1 * (g + 0.9 * state["a"] if nesterov else state["a"])

    return rule


def adam(g, t, state):
    state["m"] = 0.9 * state.get("m", 0) + 0.1 * g
    state["v"] = 0.999 * state.get("v", 0) + 0.001 * g * g
    return 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * state["m"] / (np.sqrt(state["v"]) + 1e-8)


@pytest.mark.parametrize(
    ("optimizer", "rule", "tolerance"),
    [
        (lambda: tf.train.GradientDescentOptimizer(0.1), lambda g, t, state: 0.1 * g, 1e-14),
        (lambda: tf.train.MomentumOptimizer(0.1, 0.9), momentum(False), 1e-14),
        (lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), momentum(True), 1e-14),
        (lambda: tf.train.AdamOptimizer(0.1), adam, 1e-4),  # the powers of beta are float32, as in TensorFlow
    ],
    ids=["descent", "momentum", "nesterov", "adam"],
)
def test_optimisers_by_hand(optimizer, rule, tolerance):
    np.testing.assert_allclose(optimised(optimizer()), by_hand(rule), rtol=tolerance)


def test_a_network_on_batches_of_any_size():
    tf.set_random_seed(0)
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 2])
    rate = tf.placeholder(tf.float32, ())
    hidden = tf.nn.relu(tf.matmul(x, tf.get_variable("w", [3, 16])) + tf.Variable(tf.zeros([16])))
    logits = tf.matmul(hidden, tf.Variable(tf.truncated_normal([16, 2], stddev=0.5)))
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    right = tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1))
    accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    step = tf.train.AdamOptimizer(rate).minimize(loss)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 3))
    classes = np.eye(2)[(points[:, 0] * points[:, 1] > 0).astype(int)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for k in range(400):
            rows = slice(k % 3 * 25, k % 3 * 25 + 25)  # 25, 25 and 10 rows
            session.run(step, {x: points[rows], y: classes[rows], rate: 0.02})
        assert session.run(accuracy, {x: points, y: classes}) > 0.95
        assert session.built == 4  # the initial values, two sizes of batch, the accuracy, and nothing else


def test_what_cannot_be_minimised():
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="No variables to optimize"):
        tf.train.GradientDescentOptimizer(0.1).minimize(x)
    tf.Variable(1.0)
    with pytest.raises(ValueError, match="No gradients provided"):
        tf.train.GradientDescentOptimizer(0.1).minimize(x)


def test_an_interactive_session():
    w = tf.Variable(2.0)
    session = tf.InteractiveSession()
    tf.global_variables_initializer().run()
    assert (w * 3.0).eval() == 6.0
    session.close()
    with pytest.raises(ValueError, match="No default session"):
        (w * 3.0).eval()


def test_the_page_getting_started_of_tensorflow_1():
    """It prints 23.66, then `W: [-0.9999969] b: [ 0.99999082] loss: 5.69997e-11`."""
    w, b = tf.Variable([0.3], dtype=tf.float32), tf.Variable([-0.3], dtype=tf.float32)
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    loss = tf.reduce_sum(tf.square(w * x + b - y))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    feed = {x: [1, 2, 3, 4], y: [0, -1, -2, -3]}
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    assert session.run(loss, feed) == np.float32(23.66)
    for _ in range(1000):
        session.run(train, feed)
    found = session.run([w, b, loss], feed)
    assert found[0] == np.float32(-0.9999969) and found[1] == np.float32(0.99999082)
    assert found[2] == pytest.approx(5.69997e-11, rel=1e-5)
