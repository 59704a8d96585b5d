# Linear regression by gradient descent, as the first tutorials of TensorFlow 1 have it.
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

x_data = np.arange(8.0).astype(np.float32) / 8
y_data = x_data * 0.5 + 0.25

X = tf.placeholder(tf.float32, [None], name="X")
Y = tf.placeholder(tf.float32, [None], name="Y")
W = tf.Variable(0.0, name="W")
b = tf.Variable(0.0, name="b")
prediction = W * X + b
loss = tf.reduce_mean(tf.square(prediction - Y))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
print(W)
print(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(400):
        sess.run(train, feed_dict={X: x_data, Y: y_data})
    print(f"{sess.run(W):.3f} {b.eval():.3f}")
    print(sess.run(prediction, {X: [1.0, 2.0]}).shape)
    print(sess.run(tf.gradients(loss, [W, b]), {X: x_data, Y: y_data})[0] < 1e-5)

try:
    sess.run(W)
except RuntimeError as e:
    print(e)
