/** An application as a user writes it, and the test that runs two instances of it. */
package com.example.shop;
